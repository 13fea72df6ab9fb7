/**
 * Is it alive, and should requests be sent to it. `/readyz` is open to everybody, so what it looked at holds for a
 * moment, and what it says is which check failed; the cause is in our log.
 */
import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import type { Logger, TaskStore } from '../../tasks/index.ts';
import type { Register } from '../register/register.ts';

/** A check that takes longer has failed. */
const CHECK_MS = 2000;
/** How long an answer holds. */
const FRESH_MS = 1000;

/** Throws, or rejects, where something is wrong. */
export type Check = () => unknown;

export const Readiness = z.object({
  status: z.enum(['ready', 'draining', 'failing']),
  checks: z.record(z.string(), z.enum(['ok', 'failed'])),
});
export type Readiness = z.infer<typeof Readiness>;

export interface Health {
  readiness(): Promise<Readiness>;
  /** From now on it is not ready: those who send requests are to go elsewhere. */
  drain(): void;
}

export interface HealthOptions {
  readonly checks: Readonly<Record<string, Check>>;
  readonly logger: Logger;
  readonly checkMs?: number;
  readonly freshMs?: number;
}

export function createHealth(options: HealthOptions): Health {
  const { logger, checkMs = CHECK_MS, freshMs = FRESH_MS } = options;
  let draining = false;
  let checked: Promise<Readiness['checks']> | undefined;
  let until = 0;

  async function check(name: string, work: Check): Promise<readonly [string, 'ok' | 'failed']> {
    const over = new AbortController();
    const { signal } = over;
    try {
      await Promise.race([
        Promise.resolve().then(work),
        delay(checkMs, undefined, { signal, ref: false }).then(() => {
          throw new Error(`no answer within ${checkMs} ms`);
        }),
      ]);
      return [name, 'ok'];
    } catch (error) {
      logger.error({ err: error, check: name }, 'the gateway is not ready');
      return [name, 'failed'];
    } finally {
      over.abort();
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

/** Writes nothing, and needs all that a write needs. */
export function storeCheck(store: Pick<TaskStore, 'setExpiry'>): Check {
  return () => store.setExpiry({ tenant: '', owner: '' }, 'metadata', undefined);
}

/**
 * Writes what is there already: a disk that is full, or can only be read, is noticed by nothing less. A file that was
 * removed or replaced meanwhile takes writes as well, which nobody will find again.
 */
export function registerCheck({ db, transaction }: Pick<Register, 'db' | 'transaction'>): Check {
  const file = db.location();
  const inode = () => (file === null ? undefined : statSync(file, { bigint: true }).ino);
  const opened = inode();
  return () => {
    if (inode() !== opened) throw new Error(`${file} is not the file that was opened: start anew`);
    transaction(() => db.exec('UPDATE key_salt SET salt = salt'));
  };
}
