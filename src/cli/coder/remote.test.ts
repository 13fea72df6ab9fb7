import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Remote, type RemoteOptions } from './remote.ts';

function remoteOn(options: Partial<RemoteOptions>): Remote {
  const listening = { url: 'http://127.0.0.1:1234', port: 1234, setTls() {} };
  const opened = {
    listen: async () => listening,
    access: { issueTicket: () => 'T' },
  } as unknown as RemoteOptions['opened'];
  return new Remote({ opened, environment: {}, readTls: () => undefined, tls: false, ...options });
}

test('a host that is neither an address nor a host name gets no certificate', async () => {
  const remote = remoteOn({ host: 'no host', tls: true, environment: { PARLEY_HOME: '/no/such' } });
  await assert.rejects(
    remote.run([]),
    /no host is not an address of this machine: change --a2a-host/,
  );
});

test('/remote tls is advised only for an address that /remote opens', async () => {
  const port = await remoteOn({ openHost: '192.0.2.7' }).run([]);
  assert.match(port.text, /not encrypted.* Start parley with --tls-cert and --tls-key to encrypt/);
  const proxy = await remoteOn({ publicUrl: 'http://agent.example' }).run([]);
  assert.match(proxy.text, /not encrypted.* Use an https address for --public-url/);
  for (const { text } of [port, proxy]) assert.doesNotMatch(text, /\/remote tls/);
});
