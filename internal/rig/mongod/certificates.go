package mongod

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateLife is longer than any server of a test lives, and no longer.
const certificateLife = 7 * 24 * time.Hour

// makeCertificates writes an authority's certificate, and those that it signs for the members and for clients, each with its key.
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
	for path, template := range map[*string]*x509.Certificate{
		&files.Server: {
			Subject:     pkix.Name{CommonName: "member", Organization: []string{"servers of a test"}},
			IPAddresses: []net.IP{net.ParseIP(loopbackHost), net.IPv6loopback}, DNSNames: []string{"localhost"},
			// Members are clients of each other, too.
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		},
		&files.Client: {
			Subject:     pkix.Name{CommonName: "client", Organization: []string{"clients of a test"}},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		},
	} {
		*path = filepath.Join(files.Folder, template.Subject.CommonName+".pem")
		if err := sign(*path, template, authority, signer); err != nil {
			return err
		}
	}
	return nil
}

// sign writes a certificate with a key of its own.
func sign(path string, template, authority *x509.Certificate, signer *ecdsa.PrivateKey) error {
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
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})...)
	return os.WriteFile(path, text, 0o600)
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
