package mongod

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/youmark/pkcs8"
)

// certificateLife is a little longer than any test server lives.
const certificateLife = 7 * 24 * time.Hour

// keyPassword is the password of encrypted keys; upstream's tests know it.
const keyPassword = "password"

// makeCertificates writes an authority's certificate and those that it signs for the members and for clients, each with its key.
func makeCertificates(files *Files) error {
	authority := &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority of a test"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	text, err := certificate(authority, authority, signer, signer)
	if err != nil {
		return err
	}
	files.CA = filepath.Join(files.Folder, "ca.pem")
	if err := os.WriteFile(files.CA, text, 0o600); err != nil {
		return err
	}
	subject, err := asn1.Marshal(clientSubject())
	if err != nil {
		return err
	}
	for path, template := range map[*string]*x509.Certificate{
		&files.Server: {
			Subject:     pkix.Name{CommonName: "member", Organization: []string{"servers of a test"}},
			IPAddresses: []net.IP{net.ParseIP(loopbackHost), net.IPv6loopback}, DNSNames: []string{"localhost"},
			// Members are clients of each other, too.
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		},
		&files.Client: {
			Subject: pkix.Name{CommonName: "client"}, RawSubject: subject,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		},
	} {
		name := filepath.Join(files.Folder, template.Subject.CommonName)
		*path = name + ".pem"
		if err := sign(*path, name+"-encrypted.pem", template, authority, signer); err != nil {
			return err
		}
	}
	files.EncryptedClient = strings.TrimSuffix(files.Client, ".pem") + "-encrypted.pem"
	return nil
}

// clientSubject is the subject that upstream's tests expect in the client's certificate. A mongod names the parts from the last
// to the first.
func clientSubject() pkix.RDNSequence {
	var names pkix.RDNSequence
	for _, part := range []struct {
		id    int // below the arc of attributes of names
		value string
	}{{3, "client"}, {11, "Drivers"}, {10, "MDB"}, {7, "New York City"}, {8, "New York"}, {6, "US"}} {
		names = append(names, pkix.RelativeDistinguishedNameSET{
			{Type: asn1.ObjectIdentifier{2, 5, 4, part.id}, Value: part.value},
		})
	}
	return names
}

// sign writes a certificate with a new key, once with the key in plain text and once with it encrypted.
func sign(path, encrypted string, template, authority *x509.Certificate, signer *ecdsa.PrivateKey) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	text, err := certificate(template, authority, key, signer)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	locked, err := pkcs8.MarshalPrivateKey(key, []byte(keyPassword), nil)
	if err != nil {
		return err
	}
	plain := append(slices.Clone(text), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})...)
	if err := os.WriteFile(path, plain, 0o600); err != nil {
		return err
	}
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: locked})...)
	return os.WriteFile(encrypted, text, 0o600)
}

func certificate(template, authority *x509.Certificate, key, signer *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(certificateLife)
	der, err := x509.CreateCertificate(rand.Reader, template, authority, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
