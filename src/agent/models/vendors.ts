/**
 * The vendors that can be named: which variables of the environment hold their key and address, and how their models
 * are asked. A vendor's package is loaded when one of its models is first used.
 */
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { JsonObject } from '../json.ts';
import { guardedFetch } from './guarded-fetch.ts';

/** Variables by name; `process.env` is one. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface VendorSettings {
  readonly apiKey: string | undefined;
  readonly baseUrl: string | undefined;
}

export interface Vendor {
  /** The first that is set counts; the first is the one that people are told to set. */
  readonly keys: readonly [string, ...string[]];
  readonly keyOptional?: boolean;
  readonly baseUrl: string;
  readonly baseUrlRequired?: boolean;
  /** Used when its key is all that is known. */
  readonly defaultModel?: string;
  /** How bare names of its models begin, to guess what somebody meant. */
  readonly family?: RegExp;
  /** What to ask for beyond the vendor's defaults: that thoughts are shown, and come back whole without being kept there. */
  options?(model: string): Readonly<Record<string, JsonObject>> | undefined;
  load(model: string, settings: VendorSettings): Promise<LanguageModelV4>;
}

const fetch = guardedFetch();

export const VENDORS: Readonly<Record<string, Vendor>> = {
  google: {
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    baseUrl: 'GEMINI_BASE_URL',
    defaultModel: 'gemini-3.8-flash',
    family: /^gem(ini|ma)-/,
    options: (model) =>
      /^gemini-(?!1|2\.0)/.test(model)
        ? { google: { thinkingConfig: { includeThoughts: true } } }
        : undefined,
    async load(model, { apiKey = '', baseUrl }) {
      const { createGoogle } = await import('@ai-sdk/google');
      return createGoogle({ apiKey, fetch, ...(baseUrl !== undefined && { baseURL: baseUrl }) })(
        model,
      );
    },
  },
  anthropic: {
    keys: ['ANTHROPIC_API_KEY'],
    baseUrl: 'ANTHROPIC_BASE_URL',
    defaultModel: 'claude-sonnet-5-5',
    family: /^claude-/,
    options: (model) =>
      hasAdaptiveThinking(model)
        ? { anthropic: { thinking: { type: 'adaptive', display: 'summarized' } } }
        : undefined,
    async load(model, { apiKey = '', baseUrl }) {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ apiKey, fetch, ...(baseUrl !== undefined && { baseURL: baseUrl }) })(
        model,
      );
    },
  },
  openai: {
    keys: ['OPENAI_API_KEY'],
    baseUrl: 'OPENAI_BASE_URL',
    defaultModel: 'gpt-6.1-sol',
    family: /^(gpt-|o\d|codex-)/,
    options: (model) => ({
      openai: { store: false, ...(isReasoningModel(model) && { reasoningSummary: 'auto' }) },
    }),
    async load(model, { apiKey = '', baseUrl }) {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI({ apiKey, fetch, ...(baseUrl !== undefined && { baseURL: baseUrl }) })(
        model,
      );
    },
  },
  'openai-compatible': {
    keys: ['OPENAI_COMPATIBLE_API_KEY'],
    keyOptional: true,
    baseUrl: 'OPENAI_COMPATIBLE_BASE_URL',
    baseUrlRequired: true,
    async load(model, { apiKey, baseUrl = '' }) {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const provider = createOpenAICompatible({
        name: 'compatible',
        baseURL: baseUrl,
        fetch,
        includeUsage: true,
        ...(apiKey !== undefined && { apiKey }),
      });
      return provider(model);
    },
  },
};

/** In tokens. The first that matches; on the safe side where a family differs. */
const CONTEXT_WINDOWS: readonly (readonly [RegExp, number])[] = [
  [/^google:gemini-/, 1_048_576],
  [/^anthropic:claude-(fable|opus-5|sonnet-5|(opus|sonnet)-4-[6-9])/, 1_000_000],
  [/^anthropic:claude-/, 200_000],
  [/^openai:gpt-5\.\d-(mini|nano)/, 400_000],
  [/^openai:gpt-(5\.[4-9]|6|4\.1)/, 1_000_000],
  [/^openai:gpt-5.*-chat-latest/, 128_000],
  [/^openai:gpt-5/, 400_000],
  [/^openai:o[134]/, 200_000],
  [/^openai:gpt-4o/, 128_000],
];

export function contextWindowOf(name: string): number | undefined {
  return CONTEXT_WINDOWS.find(([pattern]) => pattern.test(name))?.[1];
}

function hasAdaptiveThinking(model: string): boolean {
  return /^claude-(fable|(opus|sonnet)-4-[6-9]|[a-z]+-[5-9])/.test(model);
}

function isReasoningModel(model: string): boolean {
  return /^(o\d|gpt-(5|6))/.test(model) && !model.endsWith('-chat-latest');
}
