/**
 * A client sends its request in the API of some vendor. This file selects the providers of a model that have the same
 * API. The client's request is passed on to these providers without conversion.
 */
import type { ModelRequest } from '../../../agent/index.ts';
import { A2AError } from '../../../protocol/index.ts';
import type { ModelTarget } from '../catalogue.ts';
import { streams } from '../limits.ts';
import { relays } from '../provider.ts';
import type { Relay } from '../relay/relay.ts';

/** The conversions of a request to a ModelRequest. */
export interface Conversions {
  /** Converts the request for providers with another API. Throws if this is not possible. */
  exact(): ModelRequest;
  /**
   * Converts what is needed to count the tokens. Unlike `exact`, does not throw if the request has content that only
   * providers with the client's API support.
   */
  rough(): ModelRequest;
}

export interface Prepared {
  /** The model with the providers that may be called. */
  readonly target: ModelTarget;
  readonly request: ModelRequest;
  /** Undefined if no provider gets the client's request without conversion. */
  readonly relay: Relay | undefined;
}

/**
 * Returns the model with only those providers that get the client's request without conversion, or undefined if there
 * are none.
 */
export function ownProviders(
  target: ModelTarget,
  relay: Pick<Relay, 'accepts'>,
): ModelTarget | undefined {
  const candidates = target.candidates.filter(({ provider }) => relays(provider, relay));
  return candidates.length > 0 ? { ...target, candidates } : undefined;
}

/**
 * Prepares a call. If all providers have the client's API, a rough conversion is enough. If the request cannot be
 * converted, only the providers with the client's API remain. If there are none, throws the error of the conversion.
 */
export function prepared(
  target: ModelTarget,
  exchange: Conversions & { readonly stream: boolean; readonly relay: Relay },
): Prepared {
  // If the model does not stream, a request for a stream cannot be relayed.
  const mayRelay = !exchange.stream || streams(target);
  const own = mayRelay ? ownProviders(target, exchange.relay) : undefined;
  const relay = own && exchange.relay;
  if (own?.candidates.length === target.candidates.length)
    return { target, request: exchange.rough(), relay };
  try {
    return { target, request: exchange.exact(), relay };
  } catch (error) {
    if (own === undefined || !(error instanceof A2AError)) throw error;
    return { target: own, request: exchange.rough(), relay };
  }
}
