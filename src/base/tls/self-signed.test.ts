import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { addressesOf, makeSelfSigned, openOwnCertificate } from './index.ts';

const DAY_MS = 86_400_000;

function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), 'parley-tls-'));
  t.after(() => rmSync(made, { recursive: true }));
  return made;
}

test('the certificate is valid for the addresses and for localhost, and only for a server', () => {
  const { cert, key } = makeSelfSigned(['192.168.1.23', 'fd00::2', '2001:db8:1:2:3:4:5:6']);
  const certificate = new X509Certificate(cert);
  assert.ok(certificate.verify(certificate.publicKey));
  assert.ok(certificate.checkPrivateKey(createPrivateKey(key)));
  assert.equal(certificate.ca, false);
  assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1']);
  assert.deepEqual(addressesOf(certificate), ['192.168.1.23', 'fd00::2', '2001:db8:1:2:3:4:5:6']);
  assert.equal(certificate.checkIP('192.168.1.23'), '192.168.1.23');
  assert.equal(certificate.checkIP('192.168.1.24'), undefined);
  assert.equal(certificate.checkHost('localhost'), 'localhost');
  const days = (Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)) / DAY_MS;
  assert.equal(days, 397);
  assert.match(certificate.serialNumber, /^[4-7][\dA-F]{31}$/);
});

test('a client that trusts the certificate connects, and another one does not', async (t) => {
  const pair = makeSelfSigned(['127.0.0.1']);
  const server = createServer(pair, (_request, response) => response.end('hello'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `https://127.0.0.1:${port}/`;
  const [response] = await once(get(url, { ca: pair.cert, agent: false }), 'response');
  assert.equal(await text(response), 'hello');
  await assert.rejects(once(get(url, { agent: false }), 'response'), {
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  });
});

test('a certificate is made once, and again for a new address or before it ends', (t) => {
  const file = path.join(folder(t), 'data', 'remote.pem');
  const first = openOwnCertificate(file, ['10.0.0.1']);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(openOwnCertificate(file, ['10.0.0.1']).fingerprint, first.fingerprint);
  const second = openOwnCertificate(file, ['10.0.0.2']);
  assert.notEqual(second.fingerprint, first.fingerprint);
  const both = ['10.0.0.1', '10.0.0.2'];
  assert.deepEqual(addressesOf(new X509Certificate(second.cert)), both);
  assert.equal(openOwnCertificate(file, both).fingerprint, second.fingerprint);
  const later = Date.now() + 392 * DAY_MS;
  const third = openOwnCertificate(file, both, later);
  assert.notEqual(third.fingerprint, second.fingerprint);
  assert.ok(Date.parse(new X509Certificate(third.cert).validTo) > later + 300 * DAY_MS);
});

test('a certificate can be made for a host name, an address with a zone, and an embedded IPv4 address', (t) => {
  const file = path.join(folder(t), 'remote.pem');
  const hosts = ['Desk.local', 'fe80::1%en0', '::ffff:10.0.0.1'];
  const first = openOwnCertificate(file, hosts);
  const certificate = new X509Certificate(first.cert);
  assert.deepEqual(addressesOf(certificate), ['desk.local', 'fe80::1', '::ffff:a00:1']);
  assert.equal(certificate.checkHost('desk.local'), 'desk.local');
  assert.equal(openOwnCertificate(file, hosts).fingerprint, first.fingerprint);
  const second = openOwnCertificate(file, ['10.0.0.2']);
  assert.equal(openOwnCertificate(file, hosts).fingerprint, second.fingerprint);
});

test('a certificate with too many addresses keeps those that are in use', (t) => {
  const file = path.join(folder(t), 'remote.pem');
  const earlier = Array.from({ length: 16 }, (_, n) => `10.0.0.${n + 1}`);
  openOwnCertificate(file, earlier);
  const { cert } = openOwnCertificate(file, ['10.0.0.1', '10.0.0.17']);
  const certificate = new X509Certificate(cert);
  assert.equal(addressesOf(certificate).length, 16);
  assert.equal(certificate.checkIP('10.0.0.1'), '10.0.0.1');
  assert.equal(certificate.checkIP('10.0.0.17'), '10.0.0.17');
  assert.equal(certificate.checkIP('10.0.0.2'), undefined, 'the oldest one that is not in use');
});
