/** What the tests of model cards have in common: a register, an audit log that can be read, the seed's own card. */
import { openRegister, type SqliteRegister } from '../../src/gateway/register/sqlite-register.ts';
import { Caller } from '../../src/gateway/api/caller.ts';
import { createCards, type CardLimits, type Cards } from '../../src/gateway/cards/cards.ts';
import { CardInput, CardQuery } from '../../src/gateway/cards/schema.ts';
import type { AuditEntry } from '../../src/gateway/audit/audit.ts';
import { type AtOnce, atOnce } from '../support/at-once.ts';
import { auditInto } from '../support/audit-into.ts';

export const silent = { debug() {}, info() {}, warn() {}, error() {} };

export const ann = new Caller({ workspace: 'ws-123', actor: 'key:ann', scopes: new Set(['*']) });
export const bob = new Caller({ workspace: 'ws-456', actor: 'key:bob', scopes: new Set(['*']) });

/** The body of the example in the gateway's requirements. */
export const SEED_BODY = {
  workspaceId: 'ws-123',
  name: 'GPT-4 Turbo',
  slug: 'gpt-4-turbo',
  description: 'OpenAI GPT-4 Turbo model',
  card: {
    schemaVersion: '1.0' as const,
    name: 'gpt-4-turbo',
    capabilities: [
      { type: 'streaming', enabled: true },
      { type: 'vision', enabled: true },
    ],
    pricing: { inputPricePerToken: 0.00001, outputPricePerToken: 0.00003, currency: 'USD' },
  },
};

export interface Bench {
  readonly register: SqliteRegister;
  readonly cards: AtOnce<Cards>;
  readonly entries: readonly AuditEntry[];
}

interface BenchOptions {
  /** Undefined: in memory. */
  readonly path?: string;
  readonly now?: () => number;
  readonly limits?: CardLimits;
}

export function bench({ path, ...options }: BenchOptions = {}): Bench & Disposable {
  const register = openRegister(path, silent);
  const entries: AuditEntry[] = [];
  const cards = atOnce(createCards({ register, audit: auditInto(entries), ...options }));
  return { register, cards, entries, [Symbol.dispose]: () => register.close() };
}

/** A body that is right; `fields` say what is of interest. */
export function body(fields: Partial<CardInput> & { readonly name: string }): CardInput {
  return CardInput.parse({ card: { schemaVersion: '1.0', name: 'm' }, ...fields });
}

export function query(fields: Partial<CardQuery> = {}): CardQuery {
  return CardQuery.parse(fields);
}
