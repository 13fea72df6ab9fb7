/**
 * Embedding models: an adapter for the embedding models of the AI SDK, and a model that needs no network.
 *
 * The answer of a vendor must have one vector for each text, and all vectors must have the same length.
 */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { EmbeddingModelV3, EmbeddingModelV4 } from '@ai-sdk/provider';
import { ModelError } from '../model.ts';
import type { ProviderOptions } from './provider.ts';
import { isCount } from './pieces.ts';
import { startTimeouts, totalTimeout } from './timeouts.ts';
import type { ErrorSource } from './vendor-error.ts';

export interface Embeddings {
  /** One vector for each text, in the order of the texts. */
  readonly vectors: readonly (readonly number[])[];
  /** The number of input tokens, or undefined if the vendor sent no count. */
  readonly inputTokens?: number;
}

export interface EmbeddingModel {
  readonly name: string;
  /**
   * Returns the vectors of the texts. `dimensions` is the length of the vectors. By default, the model determines the
   * length. Throws a ModelError, or the signal's reason if the signal is aborted.
   */
  embed(texts: readonly string[], signal: AbortSignal, dimensions?: number): Promise<Embeddings>;
}

/** An embedding model of the AI SDK. The type is structural for the same reason as ProviderModel in provider.ts. */
export interface ProviderEmbeddings {
  readonly specificationVersion: 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  doEmbed(options: never): PromiseLike<unknown>;
}

export type EmbeddingOptions = Pick<
  ProviderOptions,
  'name' | 'keyVariable' | 'secret' | 'timeoutMs'
>;

/** Default maximum time for all texts together. */
const TIMEOUT_MS = 2 * 60_000;
const MAX_TEXTS = 2048;
const MAX_DIMENSIONS = 65_536;
/** Maximum number of texts in one call to a vendor that specifies no limit. */
const MAX_TEXTS_PER_CALL = 2048;

/** Adds a timeout and limits to a vendor's model. Failed requests are not retried. */
export function embeddingsFrom(
  given: ProviderEmbeddings,
  options: EmbeddingOptions = {},
): EmbeddingModel {
  // The code below calls both versions in the same way.
  const model = given as EmbeddingModelV4 | EmbeddingModelV3;
  const { name = `${given.provider}:${given.modelId}`, timeoutMs = TIMEOUT_MS } = options;
  const source: ErrorSource = { name, keyVariable: options.keyVariable, secret: options.secret };

  async function embed(
    texts: readonly string[],
    signal: AbortSignal,
    dimensions?: number,
  ): Promise<Embeddings> {
    signal.throwIfAborted();
    if (texts.length > MAX_TEXTS) {
      const message = `${name} accepts at most ${MAX_TEXTS} texts at a time, not ${texts.length}`;
      throw new ModelError('too-long', message);
    }
    const timeouts = startTimeouts(source, signal, totalTimeout(timeoutMs));
    try {
      return await timeouts.step(all(texts, timeouts.signal, dimensions));
    } catch (error) {
      throw timeouts.reason(error);
    } finally {
      timeouts.end();
    }
  }

  async function all(
    texts: readonly string[],
    abortSignal: AbortSignal,
    dimensions: number | undefined,
  ): Promise<Embeddings> {
    const perCall = (await model.maxEmbeddingsPerCall) ?? MAX_TEXTS_PER_CALL;
    const vectors: (readonly number[])[] = [];
    let inputTokens: number | undefined;
    for (let from = 0; from < texts.length; from += perCall) {
      const values = texts.slice(from, from + perCall);
      const wanted = dimensions !== undefined && { dimensions };
      const { embeddings, usage } = await model.doEmbed({ values, abortSignal, ...wanted });
      check(embeddings, values.length, vectors[0]?.length);
      if (dimensions !== undefined && embeddings[0]?.length !== dimensions) {
        const message = `${name} does not support vectors of ${dimensions} dimensions: leave dimensions out`;
        throw new ModelError('invalid-request', message);
      }
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
    const valid =
      vectors.length === count &&
      length > 0 &&
      length <= MAX_DIMENSIONS &&
      vectors.every((vector) => vector.length === length && vector.every(Number.isFinite));
    if (valid) return;
    const message = `${name} did not send ${count} valid vectors of the same length: try again`;
    throw new ModelError('failed', message);
  }

  return { name, embed };
}

const OFFLINE_DIMENSIONS = 256;
const MAX_OFFLINE_DIMENSIONS = 1024;
/** Number of vector positions for each word. Several positions make collisions between words rare. */
const PLACES_PER_WORD = 8;
/** Maximum length of a text. A longer text would block the event loop. */
const MAX_OFFLINE_CHARS = 100_000;

/**
 * Returns an embedding model that needs no network. A hash of each word, in lower case, selects a few positions of the
 * vector, and adds 1 or -1 at each of these positions. Then the vector is normalized. Texts that share words get
 * similar vectors, and the same text always gets the same vector. The model does not consider the meaning of words.
 */
export function offlineEmbeddings(): EmbeddingModel {
  return {
    name: 'offline',
    async embed(texts, signal, dimensions = OFFLINE_DIMENSIONS) {
      if (dimensions > MAX_OFFLINE_DIMENSIONS) {
        const message = `offline supports vectors of at most ${MAX_OFFLINE_DIMENSIONS} dimensions`;
        throw new ModelError('invalid-request', message);
      }
      const vectors: (readonly number[])[] = [];
      let chars = 0;
      for (const text of texts) {
        signal.throwIfAborted();
        if (text.length > MAX_OFFLINE_CHARS) {
          const message = `offline accepts texts of at most ${MAX_OFFLINE_CHARS} characters`;
          throw new ModelError('too-long', message);
        }
        chars += text.length;
        vectors.push(hashed(text, dimensions));
        await setImmediate();
      }
      return { vectors, inputTokens: Math.ceil(chars / 4) };
    },
  };
}

function hashed(text: string, dimensions: number): readonly number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  // A text without words also gets a vector.
  for (const word of words.length > 0 ? words : ['']) {
    const digest = createHash('sha256').update(word).digest();
    for (let at = 0; at < PLACES_PER_WORD; at++) {
      const place = digest.readUInt16BE(3 * at) % dimensions;
      vector[place] = (vector[place] ?? 0) + (digest.readUInt8(3 * at + 2) % 2 === 0 ? 1 : -1);
    }
  }
  const norm = Math.hypot(...vector);
  // The norm is zero if the values of the words cancel each other out.
  if (norm === 0) return vector.with(0, 1);
  return vector.map((value) => value / norm);
}
