import assert from 'node:assert/strict';
import dns from 'node:dns';
import { isIP } from 'node:net';
import { test } from 'node:test';
import { networkGuard } from './network-guard.ts';

type DnsLookup = [
  name: string,
  options: unknown,
  done: (error: null, addresses: readonly dns.LookupAddress[]) => void,
];

const PRIVATE = [
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::FFFF:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:a9fe:a9fe',
  '0:0:0:0:0:ffff:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::7f00:1',
  '100::1',
  '100:0:0:1::1',
  '1000::1',
  '::ffff:0:7f00:1',
  '2001:0:4136:e378::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  '4000::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%lo',
  'fec0::1',
  'ff02::1',
];
const PUBLIC = [
  '1.1.1.1',
  '11.0.0.1',
  '168.63.129.15',
  '172.32.0.1',
  '::ffff:1.1.1.1',
  '2000::1',
  '2606:4700::1111',
  '3ffe:ffff::1',
];

test('private, loopback, link-local and reserved addresses are closed, in every notation', () => {
  const guard = networkGuard();
  for (const address of PRIVATE) assert.equal(guard.allows(address), false, address);
  for (const address of PUBLIC) assert.equal(guard.allows(address), true, address);
});

test('of the addresses of a name, a socket gets only the open ones, and an error if all are closed', async (t) => {
  const { lookup } = networkGuard(['10.0.0.7']);
  const found = (all: boolean, ...addresses: string[]): Promise<unknown> => {
    const answers = addresses.map((address) => ({ address, family: isIP(address) }));
    const mocked = t.mock.method(dns, 'lookup', (...[, , done]: DnsLookup) => done(null, answers));
    const { promise, resolve } = Promise.withResolvers<unknown>();
    lookup('name.example', { all }, (error, address) => resolve(error?.name ?? address));
    mocked.mock.restore();
    return promise;
  };
  const mixed = ['127.0.0.1', '1.1.1.1', '::1', '169.254.169.254', '2606:4700::1111', '10.0.0.7'];
  assert.deepEqual(await found(true, ...mixed), [
    { address: '1.1.1.1', family: 4 },
    { address: '2606:4700::1111', family: 6 },
    { address: '10.0.0.7', family: 4 },
  ]);
  assert.equal(await found(false, ...mixed), '1.1.1.1');
  for (const all of [true, false]) {
    assert.equal(await found(all, '127.0.0.1', '::1'), 'AddressError');
    assert.equal(await found(all), 'AddressError');
  }
});

test('text that is not an address is closed', () => {
  const guard = networkGuard(['0.0.0.0/0']);
  for (const text of ['', 'localhost', '127.1', '1.2.3.4.5', '2130706433', '1.2.3.4 ']) {
    assert.equal(guard.allows(text), false, text);
  }
});

test('the operator opens networks, and no more than those', () => {
  const guard = networkGuard(['127.0.0.0/8', 'fd00::/8', '10.0.0.7']);
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1', 'fd00::5', '10.0.0.7']) {
    assert.equal(guard.allows(address), true, address);
  }
  for (const address of ['::1', '10.0.0.8', '192.168.0.1']) {
    assert.equal(guard.allows(address), false, address);
  }
});

test('an opened network of one family opens no address of the other', () => {
  assert.equal(networkGuard(['::/0']).allows('10.0.0.1'), false);
  assert.equal(networkGuard(['0.0.0.0/0']).allows('fd00::1'), false);
});

test('an invalid network is refused, and the error names it', () => {
  const bads = ['localhost', '10.0.0.0/33', '10.0.0.0/x', '::1/129', '1.2.3.4/8/8', '/8'];
  // Number(' ') is 0, and 0 bits would allow every address.
  for (const bad of [...bads, '10.0.0.0/ ', '10.0.0.0/0x8', '10.0.0.0/1e1']) {
    assert.throws(
      () => networkGuard([bad]),
      { name: 'RangeError', message: /is not a network/ },
      bad,
    );
  }
});
