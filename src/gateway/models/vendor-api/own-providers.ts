/** Selects the providers of a model that have the client's own API. They get the client's own request. */
import type { ModelRequest } from '../../../agent/index.ts';
import { A2AError } from '../../../protocol/index.ts';
import type { ModelTarget } from '../catalogue.ts';
import { streams } from '../limits.ts';

/** Returns the model with only the providers of the type, or undefined if there are none. */
export function ownProviders(target: ModelTarget, type: string): ModelTarget | undefined {
  const candidates = target.candidates.filter(
    ({ provider }) => provider.config.type === type && provider.relay !== undefined,
  );
  return candidates.length > 0 ? { ...target, candidates } : undefined;
}

/** Whether providers of the client's API may get its request. A model that does not stream cannot relay a stream. */
export function mayRelay(
  target: Pick<ModelTarget, 'limits'>,
  { stream }: { readonly stream: boolean },
): boolean {
  return !stream || streams(target);
}

/**
 * Returns the request for providers with another API. If it cannot be converted for them, only the providers of the type
 * remain. If there are none, throws the reason.
 */
export function prepared(
  target: ModelTarget,
  { type, stream }: { readonly type: string; readonly stream: boolean },
  /** `exact` throws if the request cannot be converted. `rough` is good enough to count the tokens. */
  { exact, rough }: { readonly exact: () => ModelRequest; readonly rough: () => ModelRequest },
): { readonly target: ModelTarget; readonly request: ModelRequest } {
  const own = mayRelay(target, { stream }) ? ownProviders(target, type) : undefined;
  if (own !== undefined && own.candidates.length === target.candidates.length)
    return { target, request: rough() };
  try {
    return { target, request: exact() };
  } catch (error) {
    if (own === undefined || !(error instanceof A2AError)) throw error;
    return { target: own, request: rough() };
  }
}
