// This file is empty; with it in the package the compiler accepts functions without a body.
