/**
 * Selects the providers of a model that have the client's API. The client's request is passed on to these providers
 * without conversion.
 */
import type { ModelRequest } from '../../../agent/index.ts';
import { A2AError } from '../../../protocol/index.ts';
import type { ModelTarget } from '../catalogue.ts';
import { streams } from '../limits.ts';

/** Returns the model with only the providers of this type that can relay requests, or undefined if there are none. */
export function ownProviders(target: ModelTarget, type: string): ModelTarget | undefined {
  const candidates = target.candidates.filter(
    ({ provider }) => provider.config.type === type && provider.relay !== undefined,
  );
  return candidates.length > 0 ? { ...target, candidates } : undefined;
}

/**
 * Returns whether the client's request may be passed on without conversion. A model that does not stream cannot relay a
 * stream.
 */
export function mayRelay(
  target: Pick<ModelTarget, 'limits'>,
  { stream }: { readonly stream: boolean },
): boolean {
  return !stream || streams(target);
}

/**
 * Returns the model with the providers that may be called, and the converted request. If all providers have the
 * client's API, a rough conversion is enough. If the request cannot be converted, returns only the providers with the
 * client's API. If there are none, throws the error of the conversion.
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
