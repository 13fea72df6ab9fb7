/**
 * Checks whether the gateway is ready. `/readyz` needs no authentication. Therefore its result is cached briefly, and
 * shows only which checks failed. The causes are in the log.
 */
import * as z from 'zod';
import { raceAbort } from '../../base/index.ts';
import { fileCheck } from '../../base/sqlite/index.ts';
import type { Logger, TaskStore } from '../../tasks/index.ts';
import type { Register } from '../register/register.ts';

/** Maximum time for a check. */
const CHECK_MS = 2000;
/** How long a result is cached. */
const FRESH_MS = 1000;

/** Throws or rejects if the check fails. */
export type HealthCheck = () => unknown;

export const Readiness = z.object({
  status: z.enum(['ready', 'draining', 'failing']),
  checks: z.record(z.string(), z.enum(['ok', 'failed'])),
});
export type Readiness = z.infer<typeof Readiness>;

export interface Health {
  readiness(): Promise<Readiness>;
  /** Sets the status to `draining`, so that load balancers stop sending requests. */
  drain(): void;
}

export interface HealthOptions {
  readonly checks: Readonly<Record<string, HealthCheck>>;
  readonly logger: Logger;
  readonly checkMs?: number;
  readonly freshMs?: number;
}

export function createHealth(options: HealthOptions): Health {
  const { logger, checkMs = CHECK_MS, freshMs = FRESH_MS } = options;
  let draining = false;
  let checked: Promise<Readiness['checks']> | undefined;
  let until = 0;

  async function check(
    name: string,
    work: HealthCheck,
  ): Promise<readonly [string, 'ok' | 'failed']> {
    try {
      await raceAbort(Promise.resolve().then(work), AbortSignal.timeout(checkMs));
      return [name, 'ok'];
    } catch (error) {
      logger.error({ err: error, check: name }, 'a readiness check failed');
      return [name, 'failed'];
    }
  }

  function checks(): Promise<Readiness['checks']> {
    if (checked && performance.now() < until) return checked;
    until = performance.now() + freshMs;
    const all = Object.entries(options.checks).map(([name, work]) => check(name, work));
    return (checked = Promise.all(all).then(Object.fromEntries));
  }

  return {
    async readiness() {
      const found = await checks();
      const well = Object.values(found).every((outcome) => outcome === 'ok');
      return { status: draining ? 'draining' : well ? 'ready' : 'failing', checks: found };
    },
    drain() {
      draining = true;
    },
  };
}

/** Returns a check that changes no data, but fails whenever a write to the store would fail. */
export function storeCheck(store: Pick<TaskStore, 'probe' | 'setExpiry'>): HealthCheck {
  const nothing = { tenant: '', owner: '' };
  return () => (store.probe ? store.probe() : store.setExpiry(nothing, 'metadata', undefined));
}

/**
 * Returns a check that writes a value that is already stored, because only a write detects a full or read-only disk.
 * The check also fails if the file was deleted or replaced, because later writes would be lost.
 */
export function registerCheck({
  db,
  transaction,
}: Pick<Register, 'db' | 'transaction'>): HealthCheck {
  const file = fileCheck(db);
  return () => {
    file.readable('SELECT 1 FROM key_salt');
    transaction(() => db.exec('UPDATE key_salt SET salt = salt'));
  };
}
