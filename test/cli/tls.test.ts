// HTTPS: the library's server, the flags, their errors, and a certificate that is replaced while the server runs.
import assert from 'node:assert/strict';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, get, type RequestOptions } from 'node:https';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import { makeSelfSigned } from '../../src/base/tls/index.ts';
import { readTls } from '../../src/cli/program/tls.ts';
import { createAgent, serve, type TlsPair } from '../../src/server.ts';
import { networkAddress } from '../support/network-address.ts';
import { folder, serving } from './support.ts';

const one = makeSelfSigned(['127.0.0.1', networkAddress() ?? '127.0.0.1']);
const two = makeSelfSigned(['127.0.0.1']);
const silent = { debug() {}, info() {}, warn() {}, error() {} };

function write(name: string, content: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, content);
  return file;
}

function fingerprint({ cert }: TlsPair): string {
  return new X509Certificate(cert).fingerprint256;
}

async function request(url: string, options: RequestOptions): Promise<IncomingMessage> {
  const [response] = (await once(get(url, { agent: false, ...options }), 'response')) as [
    IncomingMessage,
  ];
  return response;
}

/** Returns the fingerprint of the certificate of a new connection. */
async function shown(url: string): Promise<string> {
  const response = await request(url, { rejectUnauthorized: false });
  response.resume();
  return (response.socket as TLSSocket).getPeerCertificate().fingerprint256;
}

function holding(t: TestContext) {
  const agent = createAgent(
    { name: 'Echo', description: 'Repeats' },
    async function* ({ text: said }) {
      yield said;
    },
  );
  const sockets = [
    {
      path: '/echo',
      open: (peer: { send(frame: string): void }) => ({
        message: (said: string) => peer.send(said),
      }),
    },
  ];
  const authenticate = () => ({ id: 'anyone' });
  const server = serve(agent, { tls: one, logger: silent, sockets, authenticate });
  t.after(() => server.close(0));
  return server;
}

test('a server with a certificate serves https and wss, and its card says so', async (t) => {
  const listening = await holding(t).listen(0);
  t.after(() => listening.close(0));
  const { url, port } = listening;
  assert.equal(url, `https://127.0.0.1:${port}`);
  const response = await request(`${url}/.well-known/agent-card.json`, { ca: one.cert });
  const card = JSON.parse(await text(response)) as { supportedInterfaces: { url: string }[] };
  assert.deepEqual([...new Set(card.supportedInterfaces.map((each) => each.url))], [url]);
  const socket = new WebSocket(`wss://127.0.0.1:${port}/echo`, { ca: one.cert });
  await once(socket, 'open');
  socket.send('hello');
  const [frame] = (await once(socket, 'message')) as [Buffer];
  assert.equal(frame.toString(), 'hello');

  // A new certificate is for new connections. Open connections stay open.
  listening.setTls(two);
  assert.equal(await shown(url), fingerprint(two));
  const address = networkAddress();
  if (address !== undefined) {
    const added = await listening.addAddress(address);
    assert.equal(await shown(added.url), fingerprint(two));
    await added.close();
  }
  socket.send('still here');
  assert.equal(String((await once(socket, 'message'))[0]), 'still here');
  socket.close();
  await once(socket, 'close');
  // A client without TLS gets no answer, and the server goes on.
  await assert.rejects(fetch(`http://127.0.0.1:${port}/`));
  assert.equal(await shown(url), fingerprint(two));
});

test('parley serve reads the certificate again on SIGHUP, and keeps the old one if the new one is wrong', async () => {
  const cert = write('cert.pem', one.cert);
  const key = write('key.pem', one.key);
  const server = await serving(['--tls-cert', cert, '--tls-key', key]);
  const { url, child } = server;
  assert.match(url, /^https:/);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const open = await request(url, { ca: one.cert, agent });
  const { localPort } = open.socket;
  await text(open);
  assert.equal(await shown(url), fingerprint(one));

  writeFileSync(cert, two.cert);
  child.kill('SIGHUP');
  await server.saying(/is not the key of the certificate/, 'err');
  assert.equal(await shown(url), fingerprint(one));

  writeFileSync(key, two.key);
  child.kill('SIGHUP');
  await server.saying(/cert\.pem was reloaded/, 'err');
  assert.equal(await shown(url), fingerprint(two));
  const again = await request(url, { ca: one.cert, agent });
  assert.equal(again.socket.localPort, localPort);
  await text(again);
  agent.destroy();
  await server.stop();
});

test('a certificate and a key that cannot be used are refused with what to do', () => {
  const cert = write('c.pem', one.cert);
  const key = write('k.pem', one.key);
  const cipher = { cipher: 'aes-256-cbc', passphrase: 'secret' };
  const encoding = { type: 'pkcs8', format: 'pem' } as const;
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'prime256v1',
    privateKeyEncoding: { ...encoding, ...cipher },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const encrypted = write('encrypted.pem', privateKey);
  const wrong: [cert: string | undefined, key: string | undefined, message: RegExp][] = [
    [cert, undefined, /--tls-cert needs --tls-key/],
    [undefined, key, /--tls-key needs --tls-cert/],
    [`${cert}x`, key, /--tls-cert .*c\.pemx: no such file/],
    [cert, folder, /--tls-key .*: EISDIR/],
    [key, key, /--tls-cert .*: this is not a certificate in PEM/],
    [cert, cert, /--tls-key .*: this is not a private key in PEM/],
    [cert, encrypted, /the key is encrypted: decrypt it with openssl pkey -in .*encrypted\.pem/],
    [write('chain.pem', `${one.cert}${one.cert.replace(/[a-z]/g, '!')}`), key, /chain.* complete/],
    [cert, write('other.pem', two.key), /other\.pem is not the key of the certificate in .*c\.pem/],
  ];
  for (const [certFile, keyFile, message] of wrong) {
    const values = { 'tls-cert': certFile, 'tls-key': keyFile };
    assert.throws(() => readTls(values), { message }, String(message));
  }
  assert.deepEqual(readTls({ 'tls-cert': cert, 'tls-key': key }), one);
  assert.equal(readTls({}), undefined);
});
