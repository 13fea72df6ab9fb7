/**
 * The supported vendors, with the environment variables for their keys and base URLs and the functions that load
 * their models. A vendor's package is loaded when one of its models is first used.
 */
import { boundedFetch, optionalPackage } from '../../base/index.ts';
import type { ModelRequest, ProviderTool } from '../model.ts';
import type { ProviderEmbeddings } from './embeddings.ts';
import type { ProviderModel, VendorOptions } from './provider.ts';

/** Environment variables, such as `process.env`. */
export type VendorEnvironment = Readonly<Record<string, string | undefined>>;

export interface VendorSettings {
  readonly apiKey?: string;
  readonly baseURL: string;
  /** Whether the server accepts a JSON Schema for the answer. Used only for OpenAI-compatible servers. */
  readonly structuredOutputs?: boolean;
}

type OptionSettings = Pick<ModelRequest, 'thoughts' | 'verbosity' | 'parallelToolCalls'>;

export interface Vendor {
  /**
   * The environment variables for the key. The first variable that is set is used. If none is set, error messages
   * name the first variable.
   */
  readonly keys: readonly [string, ...string[]];
  readonly keyOptional?: boolean;
  /** Returns the headers that contain the key. */
  keyHeaders(key: string): Readonly<Record<string, string>>;
  /** The query that requests a long list of models, for vendors that split the list into pages. */
  readonly listQuery?: string;
  /** The environment variable that overrides the base URL. */
  readonly addressVariable: string;
  /** The default base URL. If it is missing, `addressVariable` is required. */
  readonly address?: string;
  /** The model that is used if the key is set and no model is chosen. */
  readonly defaultModel?: string;
  /** Matches names of the vendor's models without the prefix. It is used for suggestions in error messages. */
  readonly family?: RegExp;
  /**
   * Returns options that differ from the vendor's defaults. They contain the settings of the request for which the AI
   * SDK has no common option. For OpenAI, they also turn off storage at the vendor.
   */
  options?(model: string, settings: OptionSettings): VendorOptions | undefined;
  /** Returns the vendor's own web search, or undefined if the model does not have it. */
  webSearch?(model: string): ProviderTool | undefined;
  /**
   * A key of VENDORS. If the base URL is not the vendor's own and the server lacks the vendor's API, the API of that
   * entry is used.
   */
  readonly fallback?: string;
  load(model: string, settings: VendorSettings): Promise<ProviderModel>;
  /** Loads an embedding model. Undefined if the vendor has no embedding models. */
  readonly loadEmbeddings?: (
    model: string,
    settings: VendorSettings,
  ) => Promise<ProviderEmbeddings>;
}

/**
 * Maximum size of one response. It is large, because images are sent in base64 and each token is sent in a separate
 * JSON object.
 */
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;
const fetch = boundedFetch(MAX_RESPONSE_BYTES);
/** Maximum number of web searches for one answer of Anthropic's models. Each search costs money. */
const MAX_SEARCHES = 5;

/** The clients of the vendors' packages. Only users of a vendor's models have to install its package. */
const CLIENTS = {
  async google(settings: VendorSettings) {
    const load = () => import('@ai-sdk/google');
    const { createGoogle } = await optionalPackage('@ai-sdk/google', 'A model of Google', load);
    return createGoogle({ ...settings, fetch });
  },
  async openai(settings: VendorSettings) {
    const load = () => import('@ai-sdk/openai');
    const { createOpenAI } = await optionalPackage('@ai-sdk/openai', 'A model of OpenAI', load);
    return createOpenAI({ ...settings, fetch });
  },
  async compatible({ structuredOutputs = false, ...settings }: VendorSettings) {
    const { createOpenAICompatible } = await optionalPackage(
      '@ai-sdk/openai-compatible',
      'A model of an OpenAI-compatible server',
      () => import('@ai-sdk/openai-compatible'),
    );
    return createOpenAICompatible({
      ...settings,
      name: 'compatible',
      fetch,
      includeUsage: true,
      supportsStructuredOutputs: structuredOutputs,
    });
  },
};

export const VENDORS: Readonly<Record<string, Vendor>> = {
  google: {
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    keyHeaders: (key) => ({ 'x-goog-api-key': key }),
    listQuery: '?pageSize=1000',
    addressVariable: 'GEMINI_BASE_URL',
    address: 'https://generativelanguage.googleapis.com/v1beta',
    defaultModel: 'gemini-3.8-flash',
    family: /^gem(ini|ma)-/,
    options: (model, { thoughts = false }) =>
      thoughts && /^gemini-(?!1|2\.0)/.test(model)
        ? { google: { thinkingConfig: { includeThoughts: true } } }
        : undefined,
    webSearch: (model) =>
      /^gemini-(?!1)/.test(model)
        ? { id: 'google.google_search', name: 'google_search', args: {} }
        : undefined,
    load: async (model, settings) => (await CLIENTS.google(settings))(model),
    loadEmbeddings: async (model, settings) =>
      (await CLIENTS.google(settings)).embeddingModel(model),
  },
  anthropic: {
    keys: ['ANTHROPIC_API_KEY'],
    keyHeaders: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
    listQuery: '?limit=1000',
    addressVariable: 'ANTHROPIC_BASE_URL',
    address: 'https://api.anthropic.com/v1',
    defaultModel: 'claude-sonnet-5-5',
    family: /^claude-/,
    options: (model, { thoughts = false, parallelToolCalls }) => ({
      anthropic: {
        ...(thoughts &&
          hasAdaptiveThinking(model) && { thinking: { type: 'adaptive', display: 'summarized' } }),
        ...(parallelToolCalls === false && { disableParallelToolUse: true }),
      },
    }),
    webSearch: () => ({
      id: 'anthropic.web_search_20250305',
      name: 'web_search',
      args: { maxUses: MAX_SEARCHES },
    }),
    async load(model, settings) {
      const { createAnthropic } = await optionalPackage(
        '@ai-sdk/anthropic',
        'A model of Anthropic',
        () => import('@ai-sdk/anthropic'),
      );
      return createAnthropic({ ...settings, fetch })(model);
    },
  },
  openai: {
    keys: ['OPENAI_API_KEY'],
    keyHeaders: bearer,
    addressVariable: 'OPENAI_BASE_URL',
    address: 'https://api.openai.com/v1',
    defaultModel: 'gpt-6.1-sol',
    family: /^(gpt-|o\d|codex-)/,
    options: (model, { thoughts = false, verbosity, parallelToolCalls }) => ({
      openai: {
        store: false,
        ...(thoughts && isReasoningModel(model) && { reasoningSummary: 'auto' }),
        ...(verbosity !== undefined && { textVerbosity: verbosity }),
        ...(parallelToolCalls === false && { parallelToolCalls: false }),
      },
    }),
    webSearch: () => ({ id: 'openai.web_search', name: 'web_search', args: {} }),
    // Many servers with OpenAI's format do not have the Responses API.
    fallback: 'openai-compatible',
    load: async (model, settings) => (await CLIENTS.openai(settings))(model),
    loadEmbeddings: async (model, settings) =>
      (await CLIENTS.openai(settings)).embeddingModel(model),
  },
  'openai-compatible': {
    keys: ['OPENAI_COMPATIBLE_API_KEY'],
    keyHeaders: bearer,
    keyOptional: true,
    addressVariable: 'OPENAI_COMPATIBLE_BASE_URL',
    options: (_model, { verbosity, parallelToolCalls }) => ({
      compatible: {
        ...(verbosity !== undefined && { textVerbosity: verbosity }),
        // The AI SDK adds unknown options to the request.
        ...(parallelToolCalls === false && { parallel_tool_calls: false }),
      },
    }),
    load: async (model, settings) => (await CLIENTS.compatible(settings))(model),
    loadEmbeddings: async (model, settings) =>
      (await CLIENTS.compatible(settings)).embeddingModel(model),
  },
};

function bearer(key: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${key}` };
}

/**
 * Returns the given URL. If no URL is given, returns the vendor's default URL, or undefined if the vendor has none. If
 * the given URL has no path, adds the path of the default URL. If the vendor has no default URL, adds the path `/v1`,
 * which almost all OpenAI-compatible servers have. An invalid URL is returned unchanged.
 */
export function addressOf(vendor: Vendor, given: string): string;
export function addressOf(vendor: Vendor, given: string | undefined): string | undefined;
export function addressOf({ address }: Vendor, given: string | undefined): string | undefined {
  if (given === undefined || !URL.canParse(given)) return given ?? address;
  const url = new URL(given);
  if (url.pathname === '/')
    url.pathname = address === undefined ? '/v1' : new URL(address).pathname;
  return url.href;
}

/**
 * The sizes of context windows in tokens. The first match is used. If the current text models of a family have
 * different sizes, the smallest size is listed.
 */
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
