/** Models over fake vendors on loopback, with what was spent and what was logged in view. */
import { ModelCard } from '../../src/gateway/cards/schema.ts';
import { Caller } from '../../src/gateway/api/caller.ts';
import { ModelsConfig, ProvidersConfig } from '../../src/gateway/models/config.ts';
import type { AnswerChunk } from '../../src/gateway/models/chunks.ts';
import { createModels, type Models } from '../../src/gateway/models/models.ts';
import type { ModelsOptions } from '../../src/gateway/models/models.ts';
import type { Spending } from '../../src/gateway/budgets/spending.ts';
import type { Use } from '../../src/gateway/budgets/calls.ts';
import type { CardLookup } from '../../src/gateway/cards/cards.ts';
import type { ModelRequest } from '../../src/agent/model.ts';
import type { Logger } from '../../src/tasks/index.ts';
import { data, type Reply } from '../support/vendors/server.ts';

export const WORKSPACE = 'default';
export const caller = new Caller({
  workspace: WORKSPACE,
  actor: 'key:k1',
  keyId: 'k1',
  scopes: new Set(['*']),
});

export interface Rig {
  readonly models: Models;
  readonly uses: readonly SettledUse[];
  readonly logged: readonly object[];
}

export interface RigOptions extends Partial<Omit<ModelsOptions, 'config' | 'cards'>> {
  readonly providers?: unknown;
  readonly models?: unknown;
  readonly defaultModel?: string;
  readonly modelDeadlineSeconds?: number;
  readonly cards?: Readonly<Record<string, unknown>>;
}

export function rig({
  providers = {},
  models = {},
  defaultModel,
  modelDeadlineSeconds,
  ...options
}: RigOptions = {}): Rig {
  const uses: SettledUse[] = [];
  const logged: object[] = [];
  const note = (fields: object) => void logged.push(fields);
  const logger: Logger = { debug: note, info: note, warn: note, error: note };
  const { cards = {}, ...rest } = options;
  return {
    uses,
    logged,
    models: createModels({
      spending: spendingInto(uses),
      logger,
      env: {},
      delayMs: 1,
      ...rest,
      cards: cardsOf(cards),
      config: {
        providers: ProvidersConfig.parse(providers),
        models: ModelsConfig.parse(models),
        defaultModel,
        modelDeadlineSeconds,
      },
    }),
  };
}

/** What was counted, and the provider that answered. */
export type SettledUse = Use & { readonly provider?: unknown };

export function spendingInto(uses: SettledUse[]): Pick<Spending, 'check' | 'reserve'> {
  return {
    async check() {},
    reserve: async ({ caller: { workspace, keyId }, model }) => ({
      maxOutputTokens: undefined,
      seen() {},
      settle(used) {
        const { inputTokens, outputTokens, cost, failed = false } = used;
        // It counts only as a failure.
        if (failed && inputTokens + outputTokens === 0) return;
        const provider: unknown = Reflect.get(used, 'provider');
        const counted = { workspace, keyId, model, provider, inputTokens, outputTokens };
        uses.push({ ...counted, ...(cost && { cost }) });
      },
      release() {},
    }),
  };
}

/** Cards of the one workspace, by slug. */
export function cardsOf(cards: Readonly<Record<string, unknown>>): CardLookup {
  const made = new Map(
    Object.entries(cards).map(([slug, card]) => [slug, cardOf(slug, card)] as const),
  );
  return {
    bySlug: (workspace, slug) => (workspace === WORKSPACE ? made.get(slug) : undefined),
    slugs: (workspace, limit) => (workspace === WORKSPACE ? [...made.keys()].slice(0, limit) : []),
  };
}

function cardOf(slug: string, card: unknown): ModelCard {
  const at = '2026-01-01T00:00:00.000Z';
  const fields = { id: slug, workspaceId: WORKSPACE, name: slug, slug, description: '' };
  return ModelCard.parse({ ...fields, card, version: 1, createdAt: at, updatedAt: at });
}

/** A provider that speaks OpenAI's chat format, at a fake's address. */
export function compatible(url: string, more: object = {}): object {
  return {
    type: 'openai-compatible',
    baseUrl: `${url}/v1`,
    apiKey: 'sk-secret-0123456789',
    // A caller that leaves ends the call at once, so that no test waits for the usage.
    usageWaitMs: 0,
    ...more,
  };
}

const base = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' };

/** One piece of an answer in OpenAI's chat format. */
export function piece(content: string): string {
  return data({ ...base, choices: [{ index: 0, delta: { content }, finish_reason: null }] });
}

/** The end of it, which took 20 tokens, 5 of them from the cache, and 12. */
export const END: readonly string[] = [
  data({ ...base, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  data({
    ...base,
    choices: [],
    usage: {
      prompt_tokens: 20,
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens: 12,
      total_tokens: 32,
    },
  }),
  'data: [DONE]\n\n',
];

export function says(...words: readonly string[]): Reply {
  return { events: [...words.map(piece), ...END] };
}

export const QUESTION: ModelRequest = {
  messages: [{ role: 'user', parts: [{ kind: 'text', text: 'Weather?' }] }],
};

export interface Heard {
  readonly text: string;
  readonly chunks: readonly AnswerChunk[];
  readonly error: unknown;
}

/** Asks once, and returns what came and what was thrown. */
export async function ask(
  models: Models,
  name: string,
  {
    request = QUESTION,
    signal = new AbortController().signal,
    workspace = WORKSPACE,
  }: { request?: ModelRequest; signal?: AbortSignal; workspace?: string } = {},
): Promise<Heard> {
  const chunks: AnswerChunk[] = [];
  let text = '';
  let error: unknown;
  try {
    const target = await models.resolve(workspace, name, 'chat');
    const by = { workspace, keyId: caller.keyId, traceparent: undefined };
    for await (const chunk of models.chat(target, request, { caller: by, signal })) {
      chunks.push(chunk);
      if (chunk.kind === 'text') text += chunk.text;
    }
  } catch (thrown) {
    error = thrown;
  }
  return { text, chunks, error };
}
