/**
 * Notes which operation of which peer a test tries, for the table in docs/interop.md, or in docs/gateway-clients.md for
 * clients of the gateway's models. `npm run interop` runs the tests with PARLEY_INTEROP_RESULTS set, and makes the table
 * from what they noted. In other runs nothing is noted.
 */
import { appendFileSync } from 'node:fs';
import type { TestContext } from 'node:test';

export interface Tried {
  /** `gateway`: the other program uses a model through the gateway, over the API of a vendor. */
  readonly protocol: 'A2A' | 'ACP' | 'MCP' | 'gateway';
  /** The other program, with its version: `@google/adk 2.0.0`. */
  readonly peer: string;
  /** What the other program is: a client of ours, or a server that we are a client of. */
  readonly role: 'client' | 'server';
  /** A column of the table. The columns are listed in scripts/interop-table.ts. */
  readonly operation: string;
}

export interface Result extends Tried {
  readonly passed: boolean;
}

/** Notes the result of the test `t` when it has ended. */
export function tries(t: TestContext, tried: Tried): void {
  const file = process.env['PARLEY_INTEROP_RESULTS'];
  if (file === undefined) return;
  const skip = t.mock.method(t, 'skip');
  t.after(() => {
    if (skip.mock.callCount() > 0) return;
    // The type definitions of Node lack `passed`.
    const result: Result = { ...tried, passed: Reflect.get(t, 'passed') === true };
    appendFileSync(file, `${JSON.stringify(result)}\n`);
  });
}
