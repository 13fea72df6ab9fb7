/**
 * List prices of well-known models, in US dollars per million tokens.
 *
 * An entry also applies to the dated and preview versions of the model: `gpt-5` also applies to `gpt-5-2025-08-07`. If
 * several entries match, the longest name is used. Models of local servers, `offline` and `scripted` are free. Any
 * other model without an entry has a known price only if the settings contain the price. The prices are estimates,
 * because they do not include contract prices, surcharges for very long prompts or batch discounts.
 */
import { isLocalServer } from '../../agent/providers/index.ts';
import { defined } from '../../base/index.ts';
import type { Settings } from '../settings/schema.ts';

export interface Price {
  readonly input: number;
  readonly output: number;
  /** The price of input tokens from the vendor's cache. */
  readonly cached: number;
}

const price = (input: number, output: number, cached: number): Price => ({ input, output, cached });

const FREE = price(0, 0, 0);

/** The prices by vendor and name. */
const PRICES: Readonly<Record<string, Price>> = {
  // The regular price. Until the end of 2026, the vendor charges half of it.
  'google:gemini-3.8-flash': price(1.5, 7.5, 0.15),
  'google:gemini-3-pro': price(2, 12, 0.2),
  'google:gemini-3-flash': price(0.5, 3, 0.05),
  'google:gemini-2.5-pro': price(1.25, 10, 0.125),
  'google:gemini-2.5-flash': price(0.3, 2.5, 0.03),
  'google:gemini-2.5-flash-lite': price(0.1, 0.4, 0.01),
  'anthropic:claude-sonnet-5-5': price(2, 10, 0.2),
  'anthropic:claude-sonnet-5': price(2, 10, 0.2),
  'anthropic:claude-sonnet-4-6': price(3, 15, 0.3),
  'anthropic:claude-opus-4-5': price(5, 25, 0.5),
  'anthropic:claude-opus-4-1': price(15, 75, 1.5),
  'anthropic:claude-sonnet-4-5': price(3, 15, 0.3),
  'anthropic:claude-sonnet-4': price(3, 15, 0.3),
  'anthropic:claude-haiku-4-5': price(1, 5, 0.1),
  'openai:gpt-6.1-sol': price(2, 10, 0.1),
  'openai:gpt-6-sol': price(2, 10, 0.2),
  'openai:gpt-6-luna': price(0.1, 0.5, 0.01),
  'openai:gpt-5.1': price(1.25, 10, 0.125),
  'openai:gpt-5': price(1.25, 10, 0.125),
  'openai:gpt-5-mini': price(0.25, 2, 0.025),
  'openai:gpt-5-nano': price(0.05, 0.4, 0.005),
  'openai:gpt-4.1': price(2, 8, 0.5),
  'openai:gpt-4.1-mini': price(0.4, 1.6, 0.1),
  'openai:gpt-4o': price(2.5, 10, 1.25),
  'openai:gpt-4o-mini': price(0.15, 0.6, 0.075),
};

/** The suffixes that may follow a name: a date, a version, `preview`, `latest` or `exp`. */
const VERSION = /^(?:-(?:\d{4,8}|(?<=\d-|preview-)\d{2,3}|preview|latest|exp))*$/;

/** Returns the price of a model, or undefined if it is unknown. `model` is written as on the command line. */
export type PriceOf = (model: string) => Price | undefined;

/** Returns a function that looks up prices. A price in the settings takes precedence over a list price. */
export function pricesWith(providers: Settings['providers'] = {}): PriceOf {
  return (model) => {
    const [vendor = '', ...rest] = model.split(':');
    const models = Object.hasOwn(providers, vendor) ? (providers[vendor]?.models ?? {}) : {};
    const name = rest.join(':');
    const own = Object.hasOwn(models, name) ? models[name]?.price : undefined;
    if (own) return { cached: own.input, ...defined(own) };
    if (vendor === 'offline' || vendor === 'scripted' || isLocalServer(vendor)) return FREE;
    const [best] = Object.entries(PRICES)
      .filter(([prefix]) => model.startsWith(prefix) && VERSION.test(model.slice(prefix.length)))
      .toSorted(([a], [b]) => b.length - a.length);
    return best?.[1];
  };
}
