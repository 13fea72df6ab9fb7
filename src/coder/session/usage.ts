/**
 * The usage of a session: its tokens by model, and their cost if the prices are known.
 *
 * The usage is computed from the session's events, so that every process gets the same result. A helper's own session
 * ends with the helper's job. Therefore the usage of the helper is stored in the state of the session that called the
 * helper, under the id of the call. The tokens of a web search, and the tokens that an MCP server uses by sampling, are
 * stored in the same way.
 */
import type { JsonValue } from '../../base/index.ts';
import * as z from 'zod';
import {
  functionResponses,
  type Callbacks,
  type Event,
  type MutableState,
  type Usage,
} from '../../agent/index.ts';
import { pricesWith, type PriceOf } from './prices.ts';

const Count = z.int().min(0);
const Tally = z.object({
  requests: Count,
  inputTokens: Count,
  outputTokens: Count,
  /** The number of input tokens that came from the vendor's cache. */
  cachedTokens: Count,
});
export type Tally = Readonly<z.infer<typeof Tally>>;
const Noted = z.record(z.string(), Tally);

const NOTHING: Tally = { requests: 0, inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
const HELPER_KEY = 'coder.usage.';

/** Reads a value of a session's state. */
export type ReadState = (key: string) => JsonValue | undefined;

export class SessionCost {
  readonly byModel = new Map<string, Tally>();
  readonly #state: ReadState;
  readonly #priceOf: PriceOf;

  constructor(events: readonly Event[], state: ReadState, priceOf: PriceOf = pricesWith()) {
    this.#state = state;
    this.#priceOf = priceOf;
    for (const event of events) this.add(event);
  }

  /** The number of input and output tokens of all models. */
  get tokens(): number {
    let sum = 0;
    for (const tally of this.byModel.values()) sum += tally.inputTokens + tally.outputTokens;
    return sum;
  }

  /** The total cost of the models whose price is known, and the names of the other models. */
  get cost(): { readonly usd: number; readonly unknown: readonly string[] } {
    let usd = 0;
    const unknown: string[] = [];
    for (const [model, tally] of this.byModel) {
      const price = this.#priceOf(model);
      if (!price) {
        unknown.push(model);
        continue;
      }
      const fresh = tally.inputTokens - tally.cachedTokens;
      const micros =
        fresh * price.input + tally.cachedTokens * price.cached + tally.outputTokens * price.output;
      usd += micros / 1_000_000;
    }
    return { usd, unknown };
  }

  add(event: Event): void {
    if (event.partial === true) return;
    const model = event.metadata?.['model'];
    if (event.usage && typeof model === 'string') this.#count(model, tallyOf(event.usage));
    for (const { id } of functionResponses(event.content)) {
      for (const [name, tally] of Object.entries(notedIn(this.#state, id))) {
        this.#count(name, tally);
      }
    }
  }

  #count(model: string, tally: Tally): void {
    this.byModel.set(model, sum(this.byModel.get(model) ?? NOTHING, tally));
  }
}

/** Returns callbacks that record how many tokens of this model a helper uses. */
export function noteUsage(model: string): Callbacks {
  return {
    afterModel({ usage }, { runId, state }) {
      // The id of a helper's run is the id of the call that started the helper.
      if (usage) noteCallUsage(state, runId, model, usage);
    },
  };
}

/** Adds tokens to the usage that is recorded for a call of the session. */
export function noteCallUsage(
  state: MutableState,
  callId: string,
  model: string,
  usage: Usage,
): void {
  const noted = notedIn((key) => state.get(key), callId);
  const tally = sum(noted[model] ?? NOTHING, tallyOf(usage));
  state.set(HELPER_KEY + callId, { ...noted, [model]: tally });
}

function notedIn(state: ReadState, callId: string): Readonly<Record<string, Tally>> {
  const value = state(HELPER_KEY + callId);
  return value === undefined ? {} : (Noted.safeParse(value).data ?? {});
}

function tallyOf({ inputTokens, outputTokens, cachedTokens = 0 }: Usage): Tally {
  return {
    requests: 1,
    inputTokens,
    outputTokens,
    cachedTokens: Math.min(cachedTokens, inputTokens),
  };
}

function sum(a: Tally, b: Tally): Tally {
  return {
    requests: a.requests + b.requests,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
  };
}
