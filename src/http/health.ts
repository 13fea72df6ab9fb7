/**
 * Checks whether the server is alive (`/healthz`) and ready for requests (`/readyz`). These paths need no
 * authentication. Therefore the result is cached briefly, and contains only the names of the checks and whether they
 * failed. The causes are in the log.
 */
import { raceAbort } from '../base/index.ts';
import type { Logger, TaskStore } from '../tasks/index.ts';
import { NO_STORE, type JsonRoute } from './own-routes.ts';

/** Maximum time for a check. */
const CHECK_MS = 2000;
/** How long a result is cached. */
const FRESH_MS = 1000;

/** Throws or rejects if the check fails. */
type HealthCheck = () => unknown;

/** The body of `/readyz`. */
export interface Readiness {
  readonly status: 'ready' | 'draining' | 'failing';
  readonly checks: Readonly<Record<string, 'ok' | 'failed'>>;
}

export interface ServerHealth {
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

export function createHealth(options: HealthOptions): ServerHealth {
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

/**
 * Returns a check that fails if the store cannot be written. The check changes no data. If the store has no `probe`,
 * the check sets the expiry of a task with the id `metadata`. Task ids are UUIDs, so no such task exists.
 */
export function storeCheck(store: Pick<TaskStore, 'probe' | 'setExpiry'>): HealthCheck {
  const nothing = { tenant: '', owner: '' };
  return () => (store.probe ? store.probe() : store.setExpiry(nothing, 'metadata', undefined));
}

/** Returns the reply to `/healthz`. `about` is added to its body. */
export function aliveReply(about: Readonly<Record<string, string>> = {}) {
  return { headers: NO_STORE, body: { status: 'alive', ...about } };
}

/** Returns the reply to `/readyz`. */
export async function readyReply(health: ServerHealth) {
  const body = await health.readiness();
  return { status: body.status === 'ready' ? 200 : 503, headers: NO_STORE, body };
}

/** Returns the routes `/healthz` and `/readyz`. */
export function healthRoutes(health: ServerHealth): readonly JsonRoute[] {
  return [
    { verb: 'GET', path: '/healthz', public: true, handle: async () => aliveReply() },
    { verb: 'GET', path: '/readyz', public: true, handle: () => readyReply(health) },
  ];
}
