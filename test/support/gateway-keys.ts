// A register with keys, spending and the audit log over it, a clock that is set by hand, and what was logged.
import { openRegister } from '../../src/gateway/register/sqlite-register.ts';
import { type AuditEntry, createAudit } from '../../src/gateway/audit/audit.ts';
import { createKeys } from '../../src/gateway/keys/keys.ts';
import { openPepper } from '../../src/gateway/keys/pepper.ts';
import { createSpending } from '../../src/gateway/budgets/spending.ts';
import type { BudgetsConfig } from '../../src/gateway/budgets/config.ts';
import type { RandomBytes } from '../../src/gateway/keys/token.ts';
import type { Logger } from '../../src/tasks/index.ts';
import { atOnce } from './at-once.ts';

export interface TestLogger extends Logger {
  readonly lines: string[];
}

export function testLogger(): TestLogger {
  const lines: string[] = [];
  const add = (_: object, message: string) => void lines.push(message);
  return { lines, debug: () => {}, info: () => {}, warn: add, error: add };
}

export interface TestGateway {
  /** A file; in memory without. */
  readonly path?: string;
  readonly secretKey?: string;
  readonly random?: RandomBytes;
  readonly keepAudit?: number;
}

export function testGateway({ path, secretKey, random, keepAudit }: TestGateway = {}) {
  const logger = testLogger();
  const clock = { time: Date.parse('2026-11-15T12:00:00Z') };
  const now = () => clock.time;
  const register = openRegister(path, logger);
  const audit = createAudit({ register, now, ...(keepAudit !== undefined && { keep: keepAudit }) });
  const open = () =>
    atOnce(
      createKeys({
        register,
        audit,
        pepper,
        logger,
        now,
        ...(random && { random }),
      }),
    );
  const pepper = openPepper({ register, path, secretKey });
  return {
    register,
    auditLog: audit,
    audit: {
      list: atOnce(audit).list,
      record: (entry: AuditEntry) => register.change(() => audit.record(entry)),
    },
    pepper,
    keys: open(),
    /** The same keys without what is in memory. */
    reopened: open,
    spending: (config?: BudgetsConfig) => createSpending({ register, logger, now, config }),
    logger,
    clock,
    now,
    [Symbol.dispose]: () => register.close(),
  };
}
