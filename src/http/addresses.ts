/** Which network addresses a peer may make us call: none that is private, unless the operator opened it. */
import { lookup as resolve } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Loopback, private, link-local, shared, reserved, multicast: nothing that a stranger has business with. */
const CLOSED = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

/** Adds a network in CIDR notation. Throws a RangeError that says what is wrong with it. */
function add(list: BlockList, cidr: string): void {
  const [address = '', prefix = '', ...rest] = cidr.split('/');
  const family = isIP(address);
  const bits = prefix === '' ? (family === 6 ? 128 : 32) : Number(prefix);
  const most = family === 6 ? 128 : 32;
  if (family === 0 || rest.length > 0 || !Number.isInteger(bits) || bits < 0 || bits > most) {
    throw new RangeError(`"${cidr}" is no network; write it like 10.0.0.0/8 or fd00::/8`);
  }
  list.addSubnet(address, bits, family === 6 ? 'ipv6' : 'ipv4');
}

function networks(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) add(list, cidr);
  return list;
}

const closed = networks(CLOSED);

/** Decides by address. `allow` are networks that the operator opened, in CIDR notation. */
export function addressGuard(allow: readonly string[] = []): (address: string) => boolean {
  const opened = networks(allow);
  return (address) => {
    // ::ffff:127.0.0.1 is 127.0.0.1, in either notation.
    const mapped = /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/i.exec(
      address,
    );
    const plain = mapped ? (mapped[1] ?? fromHex(mapped[2]!, mapped[3]!)) : address;
    const family = isIP(plain);
    if (family === 0) return false;
    const type = family === 6 ? 'ipv6' : 'ipv4';
    return opened.check(plain, type) || !closed.check(plain, type);
  };
}

/**
 * Resolves names for a socket, at the moment of connecting, and gives it only addresses that are allowed: so no name
 * can point inside later.
 */
export function guardedLookup(allowed: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const open = addresses.filter(({ address }) => allowed(address));
      const [first] = open;
      if (!first) return callback(new Error('the address is in a network that is closed'), []);
      if (options.all) callback(null, open);
      else callback(null, first.address, first.family);
    });
  };
}

/** The address that a URL names, where no lookup is needed to know it. A socket never looks these up. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return host;
  return /^(.+\.)?localhost\.?$/i.test(host) ? '127.0.0.1' : undefined;
}

function fromHex(high: string, low: string): string {
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
}
