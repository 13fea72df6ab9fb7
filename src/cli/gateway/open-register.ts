/**
 * Opens the register of a gateway for `parley gateway` and `parley keys`. Also opens the pepper: the secret with which
 * API keys are hashed.
 */
import { openPepper } from '../../gateway/keys/index.ts';
import {
  openPostgresRegister,
  openRegister,
  registerPath,
  SERVER_BUSY_MS,
} from '../../gateway/register/index.ts';
import { PostgresStore } from '../../store/index.ts';
import type { TaskStore } from '../../tasks/index.ts';
import { usageError } from '../program/exit.ts';
import type { Environment } from '../program/flags.ts';
import type { ServerLog } from '../program/log.ts';
import type { StoreLocation } from '../program/store-location.ts';

/** Throws a usage error if the register is in PostgreSQL and there is no PARLEY_SECRET_KEY. */
export function needSecretKey(place: StoreLocation, environment: Environment): void {
  if (place.kind !== 'postgres' || (environment['PARLEY_SECRET_KEY'] ?? '') !== '') return;
  throw usageError(
    'a gateway with --store postgres needs PARLEY_SECRET_KEY, to hash API keys and to encrypt stored secrets: set it to the same value on all machines',
  );
}

/**
 * Opens the register. A gateway passes its task store, so that the register and the task store share their connections
 * to PostgreSQL.
 */
export async function openGatewayRegister(
  place: StoreLocation,
  environment: Environment,
  log: ServerLog,
  store?: TaskStore,
) {
  const secretKey = environment['PARLEY_SECRET_KEY'];
  const path = place.kind === 'sqlite' ? registerPath(place.file) : undefined;
  const serves = store !== undefined;
  const register =
    place.kind === 'postgres'
      ? await openPostgresRegister(store instanceof PostgresStore ? store : place.url, log, {
          serves,
        })
      : openRegister(path, log, serves ? { busyMs: SERVER_BUSY_MS } : {});
  try {
    return { register, pepper: openPepper({ register, path, secretKey }) };
  } catch (error) {
    await register.close();
    throw error;
  }
}

/** Returns the reason why this process cannot check some of the keys in the register. */
export function unusableKeys(count: number): string {
  const which = count === 1 ? 'a key in this register was' : `${count} keys in this register were`;
  return `${which} created with another PARLEY_SECRET_KEY or pepper file`;
}
