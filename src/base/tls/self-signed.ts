/**
 * Makes self-signed certificates for TLS servers, and finds out for which addresses a certificate is valid. The
 * certificate that the program makes for itself is stored, so that people need not accept it at each start.
 *
 * Node cannot make certificates, so this file writes one in DER (X.509 version 3, RFC 5280). The key is an ECDSA key on
 * P-256, which all browsers accept.
 */
import {
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { readSecret, writePrivateFile } from '../files/index.ts';
import { hostNameOf } from '../loopback.ts';

/** A certificate and its private key, both in PEM. */
interface SelfSigned {
  readonly cert: string;
  readonly key: string;
}

interface OwnCertificate extends SelfSigned {
  /** The SHA-256 fingerprint, as browsers show it. */
  readonly fingerprint: string;
}

/** A certificate that expires within this time is replaced. */
const RENEW_MS = 7 * 86_400_000;
/** Maximum number of addresses in a certificate. If there are more, the oldest unneeded addresses are left out. */
const MAX_ADDRESSES = 16;

/** Some browsers refuse certificates that are valid for longer than 398 days. */
const VALID_DAYS = 397;
const DAY_MS = 86_400_000;
/** Clocks may differ a little, so the certificate is valid from a time in the past. */
const BACKDATED_MS = DAY_MS;
const NAME = 'Parley';
const LOCALHOST = 'localhost';

/** Object identifiers, encoded. */
const OID = {
  ecdsaWithSha256: bytes('06082a8648ce3d040302'),
  commonName: bytes('0603550403'),
  basicConstraints: bytes('0603551d13'),
  keyUsage: bytes('0603551d0f'),
  extendedKeyUsage: bytes('0603551d25'),
  subjectAltName: bytes('0603551d11'),
  serverAuth: bytes('06082b06010505070301'),
} as const;

/** Makes a certificate for these IP addresses and host names, and for `localhost`. */
export function makeSelfSigned(addresses: readonly string[], now: number = Date.now()): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = sequence(OID.ecdsaWithSha256);
  const name = sequence(set(sequence(OID.commonName, der(0x0c, Buffer.from(NAME)))));
  const validity = sequence(
    time(new Date(now - BACKDATED_MS)),
    time(new Date(now + (VALID_DAYS - 1) * DAY_MS)),
  );
  const names = sequence(
    ...[...new Set([LOCALHOST, ...addresses.map(canonicalHost)])].map(subjectName),
  );
  const extensions = sequence(
    // Not a certificate authority.
    extension(OID.basicConstraints, sequence(), { critical: true }),
    // The bit `digitalSignature`: the first of eight bits, so seven bits are unused.
    extension(OID.keyUsage, der(0x03, bytes('0780')), { critical: true }),
    extension(OID.extendedKeyUsage, sequence(OID.serverAuth)),
    extension(OID.subjectAltName, names),
  );
  const serial = randomBytes(16);
  // The serial number must be positive, and must not begin with a zero byte.
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  const toSign = sequence(
    // Version 3.
    der(0xa0, integer(bytes('02'))),
    integer(serial),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = sign('sha256', toSign, privateKey);
  const certificate = sequence(
    toSign,
    algorithm,
    der(0x03, Buffer.concat([bytes('00'), signature])),
  );
  return {
    cert: pem('CERTIFICATE', certificate),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/**
 * Reads the certificate and its key from the file. Makes and stores a new certificate if there is none, if it expires
 * soon, or if it is not valid for one of the addresses. The new certificate is also valid for the addresses of the old
 * one, up to MAX_ADDRESSES. So a machine that moves between known networks keeps its certificate. An address is an IP
 * address or a host name. Throws a TypeError if one of them is neither.
 */
export function openOwnCertificate(
  file: string,
  addresses: readonly string[],
  now: number = Date.now(),
): OwnCertificate {
  const stored = readPair(readSecret(file)?.toString() ?? '');
  const known = stored ? addressesOf(stored.certificate) : [];
  const needed = addresses.map(canonicalHost);
  const isValid = stored && needed.every((host) => isValidFor(stored.certificate, host));
  if (isValid && Date.parse(stored.certificate.validTo) - now > RENEW_MS) {
    return { ...stored.pair, fingerprint: stored.certificate.fingerprint256 };
  }
  // `slice` keeps the last addresses, so the needed addresses come last.
  const earlier = known.filter((host) => !needed.includes(host));
  const all = [...new Set([...earlier, ...needed])].slice(-MAX_ADDRESSES);
  const pair = makeSelfSigned(all, now);
  writePrivateFile(file, `${pair.cert}${pair.key}`);
  return { ...pair, fingerprint: new X509Certificate(pair.cert).fingerprint256 };
}

/** Returns the certificate and its key in a text. Returns undefined if they are missing, invalid or do not match. */
function readPair(text: string) {
  const at = text.indexOf('-----BEGIN PRIVATE KEY-----');
  if (at < 0) return undefined;
  const pair: SelfSigned = { cert: text.slice(0, at), key: text.slice(at) };
  try {
    const certificate = new X509Certificate(pair.cert);
    return certificate.checkPrivateKey(createPrivateKey(pair.key))
      ? { pair, certificate }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the IP addresses and host names in a certificate, in the form of `canonicalHost`, without `localhost`. */
export function addressesOf({ subjectAltName = '' }: X509Certificate): string[] {
  return [...subjectAltName.matchAll(/(?:IP Address|DNS):([\w.:-]+)/g)]
    .map(([, each = '']) => canonicalHost(each))
    .filter((each) => each !== LOCALHOST);
}

/** Returns whether the certificate is valid for this IP address or host name. */
function isValidFor(certificate: X509Certificate, address: string): boolean {
  const host = canonicalHost(address);
  const found = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
  return found !== undefined;
}

/**
 * Returns an IP address or a host name in the form that URLs use. The zone of an IPv6 address (`%eth0`) is removed,
 * because a certificate cannot contain it. Throws a TypeError if `address` is neither an IP address nor a host name.
 */
function canonicalHost(address: string): string {
  const host = address.replace(/%.*$/, '');
  return hostNameOf(isIP(host) === 6 ? `http://[${host}]` : `http://${host}`);
}

/** Encodes a host for which the certificate is valid: an IP address (iPAddress) or a host name (dNSName). */
function subjectName(host: string): Buffer {
  return isIP(host) === 0 ? der(0x82, Buffer.from(host)) : der(0x87, addressBytes(host));
}

function extension(id: Buffer, value: Buffer, { critical = false } = {}): Buffer {
  return sequence(id, ...(critical ? [bytes('0101ff')] : []), der(0x04, value));
}

/** Encodes a value: its tag, its length and its content. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  if (length < 0x100) return Buffer.concat([Buffer.from([tag, 0x81, length]), content]);
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content]);
}

function sequence(...items: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(items));
}

function set(...items: readonly Buffer[]): Buffer {
  return der(0x31, Buffer.concat(items));
}

function integer(content: Buffer): Buffer {
  return der(0x02, content);
}

/** Encodes a time. Times before 2050 have years of two digits. */
function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return date.getUTCFullYear() < 2050
    ? der(0x17, Buffer.from(digits.slice(2)))
    : der(0x18, Buffer.from(digits));
}

/** Returns the bytes of an IPv4 or IPv6 address in the form of `canonicalHost`. */
function addressBytes(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = Array.from({ length: tail === undefined ? 0 : 8 - before.length - after.length });
  const all = [...before, ...zeros.map(() => '0'), ...after];
  return bytes(all.map((group) => group.padStart(4, '0')).join(''));
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
