/** The certificate that the program makes for itself. It is kept in a file, so that people need to accept it only once. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readSecret, writePrivateFile } from '../files/index.ts';
import { addressesOf, makeSelfSigned, type SelfSigned } from './self-signed.ts';

export interface OwnCertificate extends SelfSigned {
  /** The SHA-256 fingerprint, as browsers show it. */
  readonly fingerprint: string;
}

/** A certificate that expires sooner than this is replaced. */
const RENEW_MS = 7 * 86_400_000;
/** Maximum number of addresses in a certificate. If there are more, the oldest ones that are not needed are left out. */
const MAX_ADDRESSES = 16;

/**
 * Reads the certificate and its key from the file. Makes a new one if there is none, if it expires soon, or if it is not
 * valid for one of the addresses. The new certificate is also valid for the addresses of the old one, so that a machine
 * that moves between networks keeps its certificate.
 */
export function openOwnCertificate(
  file: string,
  addresses: readonly string[],
  now: number = Date.now(),
): OwnCertificate {
  const stored = readPair(readSecret(file)?.toString() ?? '');
  const known = stored ? addressesOf(stored.certificate) : [];
  const covers = addresses.every((address) => stored?.certificate.checkIP(address) !== undefined);
  if (stored && covers && Date.parse(stored.certificate.validTo) - now > RENEW_MS) {
    return { ...stored.pair, fingerprint: stored.certificate.fingerprint256 };
  }
  // The needed addresses come last, so that they are not cut off.
  const earlier = known.filter((address) => !addresses.includes(address));
  const all = [...earlier, ...new Set(addresses)].slice(-MAX_ADDRESSES);
  const pair = makeSelfSigned(all, now);
  writePrivateFile(file, `${pair.cert}${pair.key}`);
  return { ...pair, fingerprint: new X509Certificate(pair.cert).fingerprint256 };
}

/** Returns the certificate and the key in the file, or undefined if they are missing or do not belong together. */
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
