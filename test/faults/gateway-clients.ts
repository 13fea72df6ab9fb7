/** Clients of the gateway: the vendors' own, which use up the budgets of keys and workspaces together. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { setTimeout } from 'node:timers/promises';
import type { BudgetHistory } from './budget-checker.ts';
import { freshFetch } from './fresh-fetch.ts';
import { MODEL } from './names.ts';

/** A key, or a workspace with several keys. It has a budget of so many tokens, or of their price. */
export interface BudgetHolder {
  readonly name: string;
  /** The name of its counter in the database. */
  readonly counter: string;
  readonly isMoney: boolean;
  readonly tokens: number;
  readonly keyIds: readonly string[];
  readonly secrets: readonly string[];
}

/** The budgets of several clients, who take the next one when the first is used up. */
export class BudgetRing {
  readonly #holders: BudgetHolder[];

  constructor(holders: readonly BudgetHolder[]) {
    this.#holders = [...holders];
  }

  /** The holder of the budget in use, or undefined if all budgets are used up. */
  get holder(): BudgetHolder | undefined {
    return this.#holders[0];
  }

  usedUp(holder: BudgetHolder): void {
    if (this.#holders[0] === holder) this.#holders.shift();
  }
}

export interface GatewayLoad {
  readonly base: string;
  readonly history: BudgetHistory;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 8000;
/** How a vendor's client asks: with a key, a prompt, and the maximum number of tokens in the answer. */
export type Ask = (base: string, secret: string, prompt: string, limit: number) => Promise<void>;

const connection = { fetch: freshFetch, maxRetries: 0, timeout: TIMEOUT_MS };

export const ASKING: Readonly<Record<'chat' | 'chatStream' | 'messages', Ask>> = {
  async chat(base, secret, content, max_tokens) {
    const client = new OpenAI({ ...connection, baseURL: `${base}v1`, apiKey: secret });
    await client.chat.completions.create({
      model: MODEL,
      max_tokens,
      messages: [{ role: 'user', content }],
    });
  },
  async chatStream(base, secret, content, max_tokens) {
    const client = new OpenAI({ ...connection, baseURL: `${base}v1`, apiKey: secret });
    const stream = await client.chat.completions.create({
      model: MODEL,
      max_tokens,
      messages: [{ role: 'user', content }],
      stream: true,
    });
    for await (const _ of stream);
  },
  async messages(base, secret, content, max_tokens) {
    const client = new Anthropic({ ...connection, baseURL: base, apiKey: secret });
    const stream = client.messages.stream({
      model: MODEL,
      max_tokens,
      messages: [{ role: 'user', content }],
    });
    await stream.finalMessage();
  },
};

let calls = 0;

/** Returns the prompt of a new call, which is written down. */
export function newCall(
  { holders }: BudgetHistory,
  holder: string,
  tokens: number,
  ms: number,
): { readonly id: string; readonly prompt: string } {
  const id = `c${++calls}`;
  holders.set(id, holder);
  return { id, prompt: `call ${id} ${tokens} ${Math.round(ms)}` };
}

/** Asks until the signal is aborted, or all budgets are used up. */
export async function gatewayClient(ask: Ask, ring: BudgetRing, load: GatewayLoad): Promise<void> {
  const { base, history, random, signal } = load;
  while (!signal.aborted) {
    const { holder } = ring;
    if (!holder) return;
    const tokens = 20 + Math.floor(random() * 200);
    const { prompt } = newCall(history, holder.name, tokens, random() * 600);
    // Some calls reserve more than they use.
    const limit = tokens + (random() < 0.5 ? 0 : 100);
    try {
      await ask(base, secretOf(holder, random), prompt, limit);
    } catch (error) {
      if (isUsedUp(error)) ring.usedUp(holder);
      else await setTimeout(50);
    }
  }
}

/** Returns one of the keys. */
export function secretOf({ secrets }: BudgetHolder, random: () => number): string {
  return secrets[Math.floor(random() * secrets.length)] ?? '';
}

/** Returns whether the budget is used up, and not only reserved for other calls. */
export function isUsedUp(error: unknown): boolean {
  return isRefused(error) && !/reserved for calls/.test(String(error));
}

export function isRefused(error: unknown): boolean {
  return hasStatus(error, 429);
}

export function isUnavailable(error: unknown): boolean {
  return hasStatus(error, 503);
}

function hasStatus(error: unknown, status: number): boolean {
  const isOfSdk = error instanceof OpenAI.APIError || error instanceof Anthropic.APIError;
  return isOfSdk && error.status === status;
}
