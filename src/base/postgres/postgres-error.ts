/** Errors of PostgreSQL and of its driver. The codes are SQLSTATEs, in appendix A of PostgreSQL's manual. */
import { reasonOf } from '../errors.ts';
import { StoreError, type StoreErrorCode } from '../store-error.ts';

/** Returns the SQLSTATE with which the server refused a statement, or undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  if (error instanceof StoreError) return sqlState(error.cause);
  if (!(error instanceof Error) || !('code' in error) || !('severity' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Returns whether a unique index refused the statement. */
export function isDuplicate(error: unknown): boolean {
  return sqlState(error) === '23505';
}

/** Returns whether the transaction was rolled back because of another transaction. Running it again may succeed. */
export function isRolledBack(error: unknown): boolean {
  return /^40(001|P01)$/.test(sqlState(error) ?? '');
}

/**
 * Returns whether a prepared statement failed, probably because a pooler shares server connections. Either the
 * connection does not have the statement (26000), or another client has already prepared one with the same name
 * (42P05). If the two statements differ, the error may also be a protocol violation (08P01).
 */
export function lacksPrepared(error: unknown): boolean {
  return /^(26000|42P05|08P01)$/.test(sqlState(error) ?? '');
}

/**
 * Returns whether the connection was lost, could not be made, or did not answer in time. If a statement was running, it
 * may or may not have been committed.
 */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === 'unavailable';
  const state = sqlState(error);
  if (state !== undefined) {
    // 08: connection exceptions, except for protocol violations (08P01). 57P01 to 57P05: the server shuts down,
    // crashed, starts, has closed the connection, or has dropped the database. 53300: too many clients.
    // 25006: the server has become a read-only replica. A new connection may reach the new primary.
    return /^(08(?!P01)|57P0[1-5]$|53300$|25006$)/.test(state);
  }
  if (!(error instanceof Error)) return false;
  if ('syscall' in error || ('code' in error && /^E[A-Z]+$/.test(String(error.code)))) return true;
  if (isTimeout(error)) return true;
  // The driver has no codes for these errors.
  return /^(Connection terminated|timeout |Client (has|was) .* not queryable)/i.test(error.message);
}

/** Returns whether the driver has stopped waiting for the result of a statement (`timeoutMs`). */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/**
 * Returns whether a file that the URL names could not be read. The driver reads these files for each connection. A
 * certificate that is being replaced is missing only for a moment, so this error has the code `unavailable`.
 */
function isFileFailure(error: unknown): boolean {
  if (!(error instanceof Error) || !('syscall' in error)) return false;
  return error.syscall === 'open' || ('code' in error && error.code === 'EISDIR');
}

function isTlsFailure(error: Error): boolean {
  const code = 'code' in error ? String(error.code) : '';
  return /CERT|^ERR_(SSL|TLS)|SIGNATURE/.test(code) || /\bSSL\b/.test(error.message);
}

/** Converts an error of PostgreSQL or of the network to a StoreError. Other errors are returned unchanged. */
export function toStoreError(error: unknown, database: string): unknown {
  if (error instanceof StoreError) return error;
  const reason = reasonOf(error);
  const refuse = (code: StoreErrorCode, message: string, hint: string): StoreError =>
    new StoreError(message, { code, hint, cause: error });
  if (isTimeout(error)) {
    return refuse(
      'unavailable',
      `a statement in the database ${database} took too long`,
      'look for statements that are slow or wait for locks (pg_stat_activity), and check the load of the database',
    );
  }
  const state = sqlState(error);
  if (state === '25006') {
    return refuse(
      'unavailable',
      `the database ${database} is read-only: ${reason}`,
      'use the primary server, and check the setting default_transaction_read_only',
    );
  }
  if (state === '53300') {
    return refuse(
      'unavailable',
      `the database ${database} has no free connection: ${reason}`,
      'raise max_connections or the limit of the user, or set a smaller pool_size in the URLs of all nodes',
    );
  }
  if (isFileFailure(error)) {
    return refuse(
      'unavailable',
      `cannot read a file for connections to the database ${database}: ${reason}`,
      'check sslrootcert, sslcert and sslkey in the URL',
    );
  }
  if (isConnectionLost(error)) {
    return refuse(
      'unavailable',
      `cannot reach the database ${database}: ${reason}`,
      'check that PostgreSQL runs, and that the host and the port in the URL are right',
    );
  }
  if (state === undefined) {
    if (!(error instanceof Error) || !isTlsFailure(error)) return error;
    return refuse(
      'unusable',
      `no TLS connection to the database ${database}: ${reason}`,
      'set sslmode and sslrootcert in the URL: see docs/operations.md',
    );
  }
  if (state.startsWith('28')) {
    return refuse(
      'unusable',
      `the database ${database} refused the login: ${reason}`,
      'check the user and the password in the URL',
    );
  }
  switch (state) {
    case '3D000':
      return refuse('unusable', reason, 'create the database: createdb NAME');
    case '42501':
      return refuse(
        'unusable',
        `the user of ${database} has too few rights: ${reason}`,
        'make this user the owner of the schema "parley" and its tables; to create them, it needs CREATE on the database',
      );
    case '53100':
    case '53200':
      return refuse(
        'full',
        `there is no room in ${database}: ${reason}`,
        'free disk space or memory',
      );
    case '55P03':
    case '57014':
    case '40001':
    case '40P01':
      return refuse('busy', `${database} is busy: ${reason}`, 'try again');
    case 'XX001':
    case 'XX002':
      return refuse('corrupt', `${database} is damaged: ${reason}`, 'restore a backup');
    default:
      return refuse(
        'unusable',
        `${database} refused a statement: ${reason}`,
        'see the log of the database',
      );
  }
}
