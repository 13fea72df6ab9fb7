/** A model asked to its end, for tests. */
import type { Model, ModelChunk, ModelRequest } from '../../src/agent/model.ts';

/** All chunks of one answer. */
export async function answerOf(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelChunk[]> {
  const chunks: ModelChunk[] = [];
  for await (const chunk of model.generate(request, signal)) chunks.push(chunk);
  return chunks;
}

/** What an answer says. */
export function saidIn(chunks: readonly ModelChunk[], kind: 'text' | 'thought' = 'text'): string {
  return chunks.map((chunk) => (chunk.kind === kind ? chunk.text : '')).join('');
}
