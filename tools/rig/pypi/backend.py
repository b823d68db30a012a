"""Tells pip the name and version of a source distribution, in the place of its build system, so that nothing of it is run."""

import email
import os
import shutil


def prepare_metadata_for_build_wheel(directory, config_settings=None):
    with open("PKG-INFO", encoding="utf-8") as file:
        about = email.message_from_file(file)
    name = f"{about['Name']}-{about['Version']}.dist-info"
    os.mkdir(os.path.join(directory, name))
    shutil.copy("PKG-INFO", os.path.join(directory, name, "METADATA"))
    return name
