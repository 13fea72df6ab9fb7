/**
 * Checks whether a vendor has a model. So a misspelled name is refused when it is chosen, and not only at the first
 * request.
 *
 * The name is refused only if the list of models does not contain it. Usually the model itself is requested first, and
 * the list is read only if this request gets 404. For a server on this machine, and for a name that cannot be used in a
 * URL, only the list is read. Some servers have no list of models, and some keys are not allowed to read it. Then the
 * name is accepted, and if it is wrong, the first prompt fails. A model server on this machine must answer with its
 * list. Otherwise a client that selects a model could make this program send a conversation to another service on the
 * same port.
 */
import { nearestNames, shorten } from '../../base/index.ts';
import { ModelError } from '../model.ts';
import { LOCAL_SERVERS } from './model-servers.ts';
import { fetchFrom, listModels, modelsAddress, type AskedServer } from './model-list.ts';

const TIMEOUT_MS = 5000;
const MAX_NAMED = 3;
const MAX_NAME_CHARS = 80;

/** Names that can be used unchanged in the path of a URL. */
const PLAIN = /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[\w.:@/-]{1,200}$/;

/**
 * Throws a ModelError with similar names if the vendor does not have the model. `prefix` is the vendor's prefix in model
 * names, and `id` is the vendor's name for the model.
 */
export async function requireKnown(
  { prefix, id }: { readonly prefix: string; readonly id: string },
  server: AskedServer,
  signal: AbortSignal,
): Promise<void> {
  const { baseURL, local } = server;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  let names: readonly string[];
  try {
    if (local === undefined && PLAIN.test(id)) {
      const found = await fetchFrom(server, `${modelsAddress(server)}/${id}`, limited);
      await found.body?.cancel();
      if (found.status !== 404) return;
    }
    names = (await listModels(server, limited)).map((model) => model.id);
  } catch {
    signal.throwIfAborted();
    if (local === undefined) return;
    const { title, start } = LOCAL_SERVERS[local];
    const message = `${title} does not answer at ${baseURL}: start it (${start}), or use another model`;
    throw new ModelError('unreachable', message);
  }
  // Ollama adds the tag `latest` to names without a tag.
  if ([id, `${id}:latest`].some((name) => names.includes(name))) return;
  if (names.length === 0 && local === undefined) return;
  const near = nearestNames(id, names, { maxDistance: (name) => Math.max(3, name.length / 3) })
    .slice(0, MAX_NAMED)
    .map((name) => `${prefix}:${name}`);
  const hint =
    near.length === 0 ? `${prefix} has no such model` : `did you mean ${near.join(', ')}?`;
  const given = JSON.stringify(`${prefix}:${shorten(id, MAX_NAME_CHARS)}`);
  throw new ModelError('not-found', `unknown model ${given}: ${hint}`);
}
