/** Reads the certificate and the key of `--tls-cert` and `--tls-key`, at the start and on SIGHUP. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Listening, TlsPair } from '../../server.ts';
import { reasonOf } from '../../base/index.ts';
import { usageError } from './exit.ts';
import { readFlagFile, type Values } from './flags.ts';
import type { ServerLog } from './log.ts';
import { note, quoted } from './terminal.ts';
import type { TLS_FLAGS } from './tls-flags.ts';

/**
 * Reads the certificate and the key that the flags name, and checks them. Returns undefined without the flags. Throws a
 * usage error if they cannot be used.
 */
export function readTls(values: Partial<Values<typeof TLS_FLAGS>>): TlsPair | undefined {
  const { 'tls-cert': certFile, 'tls-key': keyFile } = values;
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined) throw usageError('--tls-key needs --tls-cert: add --tls-cert FILE');
  if (keyFile === undefined) throw usageError('--tls-cert needs --tls-key: add --tls-key FILE');
  const cert = readFlagFile('--tls-cert', certFile);
  const key = readFlagFile('--tls-key', keyFile);
  if (/^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(key)) {
    throw usageError(
      `--tls-key ${keyFile}: the key is encrypted: decrypt it with openssl pkey -in ${quoted(keyFile)} -out key.pem`,
    );
  }
  const certificate = parsed(
    () => new X509Certificate(cert),
    `--tls-cert ${certFile}: this is not a certificate in PEM: the file must have the line -----BEGIN CERTIFICATE-----`,
  );
  const privateKey = parsed(
    () => createPrivateKey(key),
    `--tls-key ${keyFile}: this is not a private key in PEM: the file must have a line such as -----BEGIN PRIVATE KEY-----`,
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw usageError(
      `--tls-key ${keyFile} is not the key of the certificate in ${certFile}: use the key with which the certificate was requested`,
    );
  }
  try {
    // Finds keys that are too short, and errors in the rest of the chain. The module is loaded only here, because
    // loading it takes milliseconds, and most servers start without a certificate.
    process.getBuiltinModule('node:tls').createSecureContext({ cert, key });
  } catch (error) {
    throw usageError(
      `--tls-cert ${certFile} cannot be used (${reasonOf(error)}): every certificate in the file must be complete PEM, and an RSA key must have at least 2048 bits`,
      { cause: error },
    );
  }
  return { cert, key };
}

/** Returns the result of `parse`. If it throws, throws a usage error with this line. */
function parsed<Result>(parse: () => Result, line: string): Result {
  try {
    return parse();
  } catch (error) {
    throw usageError(line, { cause: error });
  }
}

/** Reads the certificate again. If it cannot be used, logs the reason, and the old certificate stays in use. */
export function reloadTls(
  values: Partial<Values<typeof TLS_FLAGS>>,
  listening: Pick<Listening, 'setTls'>,
  log: ServerLog,
): void {
  try {
    const pair = readTls(values);
    if (!pair) return;
    listening.setTls(pair);
    log.info({ file: values['tls-cert'] }, 'certificate reloaded');
    note(`${values['tls-cert']} was reloaded`);
  } catch (error) {
    log.error(
      { problem: reasonOf(error) },
      'failed to reload the certificate; the old one is used',
    );
  }
}
