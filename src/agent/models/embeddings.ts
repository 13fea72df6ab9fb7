/**
 * Models that make vectors of texts: those of the `ai` ecosystem as ours, and one that needs no network.
 *
 * What a vendor sends is checked before it is passed on: as many vectors as there were texts, all of numbers, all of
 * one length.
 */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { raceAbort } from '../../base/index.ts';
import type { EmbeddingModelV3, EmbeddingModelV4 } from '@ai-sdk/provider';
import { ModelError } from '../model.ts';
import { isCount } from './provider.ts';
import { vendorError, type Blame } from './vendor-error.ts';

export interface Embeddings {
  /** One for each text, in order. */
  readonly vectors: readonly (readonly number[])[];
  /** Undefined where the vendor does not count. */
  readonly inputTokens?: number;
}

export interface EmbeddingModel {
  readonly name: string;
  /** Throws a ModelError. Once the signal is aborted it throws its reason. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Embeddings>;
}

/** Told by its outline, for the same reason as a ProviderModel (provider.ts). */
export interface ProviderEmbeddings {
  readonly specificationVersion: 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  doEmbed(options: never): PromiseLike<unknown>;
}

export interface EmbeddingOptions {
  readonly name?: string;
  readonly keyVariable?: string;
  /** The key: no error shows it. */
  readonly secret?: string;
  /** For all of the texts. 2 minutes. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 2 * 60_000;
const MAX_TEXTS = 2048;
const MAX_DIMENSIONS = 65_536;
/** In one call, where the vendor names no limit. */
const MAX_TEXTS_PER_CALL = 2048;

/** A vendor's model, with a time-out and limits. Asks once; who wants more asks again. */
export function embeddingsFrom(
  given: ProviderEmbeddings,
  options: EmbeddingOptions = {},
): EmbeddingModel {
  // Its version says which of the two it is, and both are asked in the same way.
  const model = given as EmbeddingModelV4 | EmbeddingModelV3;
  const { name = `${given.provider}:${given.modelId}`, timeoutMs = TIMEOUT_MS } = options;
  const blame: Blame = { name, keyVariable: options.keyVariable, secret: options.secret };

  async function embed(texts: readonly string[], signal: AbortSignal): Promise<Embeddings> {
    signal.throwIfAborted();
    if (texts.length > MAX_TEXTS) {
      const message = `${name} takes at most ${MAX_TEXTS} texts at a time, and not ${texts.length}`;
      throw new ModelError('too-long', message);
    }
    const limit = new AbortController();
    const timer = setTimeout(() => {
      const message = `${name} did not answer in ${timeoutMs} ms: ask again, or later`;
      limit.abort(new ModelError('timeout', message, { retryable: true }));
    }, timeoutMs);
    const within = AbortSignal.any([signal, limit.signal]);
    try {
      return await raceAbort(all(texts, within), within);
    } catch (error) {
      signal.throwIfAborted();
      throw within.aborted ? within.reason : vendorError(error, blame);
    } finally {
      clearTimeout(timer);
      limit.abort(new Error('the answer was left'));
    }
  }

  async function all(texts: readonly string[], abortSignal: AbortSignal): Promise<Embeddings> {
    const perCall = (await model.maxEmbeddingsPerCall) ?? MAX_TEXTS_PER_CALL;
    const vectors: (readonly number[])[] = [];
    let inputTokens: number | undefined;
    for (let from = 0; from < texts.length; from += perCall) {
      const values = texts.slice(from, from + perCall);
      const { embeddings, usage } = await model.doEmbed({ values, abortSignal });
      check(embeddings, values.length, vectors[0]?.length);
      vectors.push(...embeddings);
      if (isCount(usage?.tokens)) inputTokens = (inputTokens ?? 0) + usage.tokens;
    }
    return { vectors, ...(inputTokens !== undefined && { inputTokens }) };
  }

  function check(
    vectors: readonly (readonly number[])[],
    count: number,
    length = vectors[0]?.length ?? 0,
  ): void {
    const sound =
      vectors.length === count &&
      length > 0 &&
      length <= MAX_DIMENSIONS &&
      vectors.every((vector) => vector.length === length && vector.every(Number.isFinite));
    if (sound) return;
    const message = `${name} sent something else than ${count} vectors of one length: ask again`;
    throw new ModelError('failed', message);
  }

  return { name, embed };
}

const OFFLINE_DIMENSIONS = 256;
/** So that two words hardly ever fall on each other. */
const PLACES_PER_WORD = 8;
/** Longer texts would keep others waiting: it is this process that does the work. */
const MAX_OFFLINE_CHARS = 100_000;

/**
 * Needs no network. It understands nothing: each word of a text, whatever its case, is hashed to a few places and signs
 * in the vector, and the vector has the length 1. So texts with words in common are near each other, the same text has
 * the same vector everywhere, and that is all.
 */
export function offlineEmbeddings(): EmbeddingModel {
  return {
    name: 'offline',
    async embed(texts, signal) {
      const vectors: (readonly number[])[] = [];
      let chars = 0;
      for (const text of texts) {
        signal.throwIfAborted();
        if (text.length > MAX_OFFLINE_CHARS) {
          const message = `offline takes texts of at most ${MAX_OFFLINE_CHARS} characters`;
          throw new ModelError('too-long', message);
        }
        chars += text.length;
        vectors.push(hashed(text));
        await setImmediate();
      }
      return { vectors, inputTokens: Math.ceil(chars / 4) };
    },
  };
}

function hashed(text: string): readonly number[] {
  const vector = Array.from({ length: OFFLINE_DIMENSIONS }, () => 0);
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  // A text without a word still has a direction.
  for (const word of words.length > 0 ? words : ['']) {
    const digest = createHash('sha256').update(word).digest();
    for (let at = 0; at < PLACES_PER_WORD; at++) {
      const place = digest.readUInt16BE(3 * at) % OFFLINE_DIMENSIONS;
      vector[place] = (vector[place] ?? 0) + (digest.readUInt8(3 * at + 2) % 2 === 0 ? 1 : -1);
    }
  }
  const norm = Math.hypot(...vector);
  // Words that cancel each other out.
  if (norm === 0) return vector.with(0, 1);
  return vector.map((value) => value / norm);
}
