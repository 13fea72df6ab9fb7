/**
 * Checks whether a vendor has a model, so that a misspelled name is refused when it is chosen and not at the first
 * request.
 *
 * The name is refused only if the vendor responds with 404 and its list of models does not contain the name. Some
 * servers have no such list, and some keys are not allowed to read it. In these cases, the first request shows
 * whether the name is correct.
 */
import * as z from 'zod';
import { boundedFetch, nearestNames, shorten } from '../../base/index.ts';
import { ModelError } from '../model.ts';
import type { Vendor, VendorSettings } from './vendors.ts';

const TIMEOUT_MS = 5000;
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_NAMED = 3;
const MAX_NAME_CHARS = 80;

/** Names that can be used unchanged in the path of a URL. */
const PLAIN = /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[\w.:@/-]{1,200}$/;

/**
 * The vendor's list of models. Google's list has `models` with names such as `models/gemini-3-flash`. The lists of
 * other vendors have `data` with ids.
 */
const List = z.union([
  z
    .object({ models: z.array(z.object({ name: z.string() })) })
    .transform(({ models }) => models.map(({ name }) => name.replace(/^models\//, ''))),
  z
    .object({ data: z.array(z.object({ id: z.string() })) })
    .transform(({ data }) => data.map(({ id }) => id)),
]);

const fetch = boundedFetch(MAX_BYTES);

export interface NamedModel {
  /** The vendor's prefix in model names. */
  readonly prefix: string;
  /** The vendor's name for the model. */
  readonly id: string;
}

/** Throws a ModelError with similar names if the vendor does not have the model. */
export async function requireKnown(
  { prefix, id }: NamedModel,
  vendor: Vendor,
  { apiKey, baseURL }: VendorSettings,
  signal: AbortSignal,
): Promise<void> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const ask = (path: string): Promise<Response> =>
    fetch(`${baseURL.replace(/\/$/, '')}/models${path}`, {
      headers: apiKey === undefined ? {} : vendor.keyHeaders(apiKey),
      signal: limited,
    });
  let names: readonly string[];
  try {
    if (PLAIN.test(id)) {
      const found = await ask(`/${id}`);
      await found.body?.cancel();
      if (found.status !== 404) return;
    }
    const list = await ask(vendor.listQuery ?? '');
    if (!list.ok) return;
    names = List.parse(await list.json());
  } catch {
    signal.throwIfAborted();
    return;
  }
  if (names.length === 0 || names.includes(id)) return;
  const near = nearestNames(id, names, { maxDistance: (name) => Math.max(3, name.length / 3) })
    .slice(0, MAX_NAMED)
    .map((name) => `${prefix}:${name}`);
  const hint =
    near.length === 0 ? `${prefix} has no such model` : `did you mean ${near.join(', ')}?`;
  const given = JSON.stringify(`${prefix}:${shorten(id, MAX_NAME_CHARS)}`);
  throw new ModelError('not-found', `unknown model ${given}: ${hint}`);
}
