/** The certificate that the program makes for itself. It is stored, so that people need not accept it at each start. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readSecret, writePrivateFile } from '../files/index.ts';
import {
  addressesOf,
  canonicalHost,
  isValidFor,
  makeSelfSigned,
  type SelfSigned,
} from './self-signed.ts';

export interface OwnCertificate extends SelfSigned {
  /** The SHA-256 fingerprint, as browsers show it. */
  readonly fingerprint: string;
}

/** A certificate that expires sooner than this is replaced. */
const RENEW_MS = 7 * 86_400_000;
/** Maximum number of addresses in a certificate. If there are more, the oldest unneeded addresses are left out. */
const MAX_ADDRESSES = 16;

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
  // The needed addresses come last, so that they are not cut off.
  const earlier = known.filter((host) => !needed.includes(host));
  const all = [...new Set([...earlier, ...needed])].slice(-MAX_ADDRESSES);
  const pair = makeSelfSigned(all, now);
  writePrivateFile(file, `${pair.cert}${pair.key}`);
  return { ...pair, fingerprint: new X509Certificate(pair.cert).fingerprint256 };
}

/** Returns the certificate and its key in the file. Returns undefined if they are missing, invalid or do not match. */
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
