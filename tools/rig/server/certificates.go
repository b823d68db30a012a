package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/youmark/pkcs8"
)

const (
	// certificateLife is a little longer than any test server lives.
	certificateLife = 7 * 24 * time.Hour

	// keyPassword is the password of encrypted keys; upstream's tests know it.
	keyPassword = "password"
)

// files are the paths of certificates: that with which all others are signed, a member's with its key, a client's, and the same
// with the key encrypted.
type files struct{ ca, server, client, encrypted string }

// makeCertificates writes the files to a folder.
func makeCertificates(folder string) (files, error) {
	in := func(name string) string { return filepath.Join(folder, name+".pem") }
	f := files{in("ca"), in("member"), in("client"), in("client-encrypted")}
	key, keyErr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	subject, subjectErr := asn1.Marshal(clientSubject())
	if err := errors.Join(keyErr, subjectErr); err != nil {
		return f, err
	}
	authority := &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority of a test"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	sign := func(template *x509.Certificate, public *ecdsa.PublicKey) ([]byte, error) {
		serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
		if err != nil {
			return nil, err
		}
		template.SerialNumber = serial
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(certificateLife)
		der, err := x509.CreateCertificate(rand.Reader, template, authority, public, key)
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
	}
	ca, err := sign(authority, &key.PublicKey)
	if err != nil {
		return f, err
	}
	// Members are clients of each other, too.
	member, memberErr := sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "member", Organization: []string{"servers of a test"}},
		IPAddresses: []net.IP{net.ParseIP(loopback), net.IPv6loopback}, DNSNames: []string{"localhost"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, &key.PublicKey)
	client, clientErr := sign(&x509.Certificate{
		RawSubject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, &key.PublicKey)
	plain, plainErr := x509.MarshalPKCS8PrivateKey(key)
	locked, lockedErr := pkcs8.MarshalPrivateKey(key, []byte(keyPassword), nil)
	if err := errors.Join(memberErr, clientErr, plainErr, lockedErr); err != nil {
		return f, err
	}
	plainKey := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: plain})
	lockedKey := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: locked})
	for name, text := range map[string]string{
		f.ca: string(ca), f.server: string(member) + string(plainKey), f.client: string(client) + string(plainKey),
		f.encrypted: string(client) + string(lockedKey),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return f, err
		}
	}
	return f, nil
}

// clientSubject is the subject that upstream's tests expect in the client's certificate. A mongod names the parts from the last
// to the first.
func clientSubject() pkix.RDNSequence {
	var names pkix.RDNSequence
	for _, part := range []struct {
		id    int // below the arc of attributes of names
		value string
	}{{3, "client"}, {11, "Drivers"}, {10, "MDB"}, {7, "New York City"}, {8, "New York"}, {6, "US"}} {
		names = append(names, pkix.RelativeDistinguishedNameSET{{Type: asn1.ObjectIdentifier{2, 5, 4, part.id}, Value: part.value}})
	}
	return names
}
