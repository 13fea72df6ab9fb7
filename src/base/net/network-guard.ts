/**
 * Protects against server-side request forgery. A guard limits the addresses that can be reached through a URL from
 * an untrusted source.
 *
 * Private networks are closed unless the operator has opened them. The guard checks the address after the host name
 * was resolved, and the socket connects to this same address. So a host name cannot be changed to a private address
 * after the check.
 *
 * Node's modules are loaded on first use, so that the client can import this module in a browser.
 */
import type { LookupFunction } from 'node:net';
import { hostNameOf } from '../loopback.ts';

/**
 * All networks whose addresses are not global: loopback, private, link-local, shared, documentation, benchmarking,
 * reserved and multicast networks. The list also contains the IPv6 networks that embed IPv4 addresses (NAT64, 6to4,
 * Teredo). IPv4-mapped addresses are checked as IPv4. See the special-purpose address registries of IANA.
 */
const CLOSED = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // The address of Azure's metadata service. It is a public address that only virtual machines in Azure can reach.
  '168.63.129.16/32',
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
  // Only 2000::/3 is assigned for global unicast. The next three networks contain all other IPv6 addresses.
  '::/3',
  '4000::/2',
  '8000::/1',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
];

let closed: Networks | undefined;

/** The error for a URL that must not be requested, because it is invalid or its address is in a closed network. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
}

export interface NetworkGuard {
  /** Returns whether an IP address may be reached. Returns false if the text is not an IP address. */
  allows(address: string): boolean;
  /** Returns whether the URL has an IP address (or localhost) that must not be reached. Does not resolve names. */
  closes(url: URL): boolean;
  /**
   * Parses an http or https URL without credentials. Throws an AddressError for any other URL, and for an address in a
   * closed network.
   */
  parse(text: string, base?: URL): URL;
  /**
   * Resolves a host name for a socket. Passes on only the addresses that may be reached. If there is none, passes on an
   * AddressError.
   */
  readonly lookup: LookupFunction;
}

/**
 * Creates a guard that decides which addresses may be reached. `allowNetworks` are the private networks that the
 * operator has opened, in CIDR notation.
 *
 *     const guard = networkGuard(['10.0.0.0/8']);
 *     const response = await guardedRequest(guard, text, { signal });
 */
export function networkGuard(allowNetworks: readonly string[] = []): NetworkGuard {
  const { isIP } = builtinNet();
  const opened = networks(allowNetworks);

  function allows(address: string): boolean {
    const plain = unmapped(address);
    const family = isIP(plain);
    if (family === 0) return false;
    // The list is built on first use, because it takes milliseconds, and many programs start without needing it.
    return opened.has(plain, family) || !(closed ??= networks(CLOSED)).has(plain, family);
  }

  function closes(url: URL): boolean {
    const literal = literalAddress(url);
    return literal !== undefined && !allows(literal);
  }

  return {
    allows,
    closes,
    parse(text, base) {
      const url = URL.parse(text, base?.href);
      if (!url) throw new AddressError(`"${text.slice(0, 200)}" is not a valid URL`);
      if (url.protocol !== 'http:' && url.protocol !== 'https:') {
        throw new AddressError('only http and https URLs are allowed');
      }
      if (url.username !== '' || url.password !== '') {
        throw new AddressError('the URL must not contain credentials');
      }
      if (closes(url)) {
        throw new AddressError(
          `${url.hostname} is in a private network: the operator can allow it with --allow-network`,
        );
      }
      return url;
    },
    lookup(hostname, options, callback) {
      const { lookup } = process.getBuiltinModule('node:dns');
      lookup(hostname, { ...options, all: true }, (error, addresses) => {
        if (error) return callback(error, []);
        const open = addresses.filter(({ address }) => allows(address));
        const [first] = open;
        if (!first)
          return callback(
            new AddressError(
              'the address is in a private network: the operator can allow it with --allow-network',
            ),
            [],
          );
        if (options.all) callback(null, open);
        else callback(null, first.address, first.family);
      });
    },
  };
}

function builtinNet(): typeof import('node:net') {
  return process.getBuiltinModule('node:net');
}

interface Networks {
  has(address: string, family: number): boolean;
}

/**
 * Returns the set of these networks. An address without a prefix length is a network of one address. Throws a
 * RangeError if a text is not in CIDR notation.
 */
function networks(cidrs: readonly string[]): Networks {
  const { BlockList, isIP } = builtinNet();
  // Each address family has its own list, because a BlockList also compares IPv4 addresses with networks such as
  // ::/3.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const cidr of cidrs) {
    const [address = '', prefix = '', ...rest] = cidr.split('/');
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    const bits = prefix === '' ? most : Number(prefix);
    if (family === 0 || rest.length > 0 || !/^\d*$/.test(prefix) || bits > most) {
      throw new RangeError(
        `"${cidr}" is not a network in CIDR notation, such as 10.0.0.0/8 or fd00::/8`,
      );
    }
    const type = typeOf(family);
    lists[type].addSubnet(address, bits, type);
  }
  return { has: (address, family) => lists[typeOf(family)].check(address, typeOf(family)) };
}

function typeOf(family: number): 'ipv4' | 'ipv6' {
  return family === 6 ? 'ipv6' : 'ipv4';
}

/**
 * Returns the IP address in the URL, or undefined if the host is a name that must be resolved. For localhost and its
 * subdomains, returns 127.0.0.1.
 */
export function literalAddress(url: URL): string | undefined {
  const host = hostNameOf(url);
  if (builtinNet().isIP(host) !== 0) return host;
  return /^(.+\.)?localhost\.?$/i.test(host) ? '127.0.0.1' : undefined;
}

/** Converts an IPv4-mapped IPv6 address to IPv4: `::ffff:127.0.0.1` and `::ffff:7f00:1` become `127.0.0.1`. */
function unmapped(address: string): string {
  const mapped = /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/i.exec(address);
  if (!mapped) return address;
  const [, dotted, high = '', low = ''] = mapped;
  if (dotted !== undefined) return dotted;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
}
