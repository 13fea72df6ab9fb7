/** Asks model servers for their models: vendors with a key, providers of the settings, and servers on this machine. */
import { reasonOf, systemCode } from '../../base/index.ts';
import { ListError, listModels, type ServedModel } from './model-list.ts';
import { LOCAL_SERVERS, type ModelServer } from './model-servers.ts';

export interface ReachableServer {
  readonly prefix: string;
  readonly baseURL: string;
  /** The models that the server lists, and its models in the settings. Empty if the server cannot be used. */
  readonly models: readonly ServedModel[];
  /** The reason why the server cannot be used or did not list its models, in one line. */
  readonly problem?: string;
}

/** Asks all servers at the same time. Rejects only if the signal is aborted. */
export async function reachableServers(
  servers: readonly ModelServer[],
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<ReachableServer[]> {
  const limit = AbortSignal.timeout(timeoutMs);
  const within = signal ? AbortSignal.any([signal, limit]) : limit;
  return Promise.all(
    servers.map(async (server): Promise<ReachableServer> => {
      const { prefix, baseURL } = server;
      const problem = server
        .problem?.(prefix)
        .message.replace(`${prefix} `, '')
        .replace(/: set it in.*/, '');
      if (problem !== undefined) return { prefix, baseURL, models: [], problem };
      try {
        return { prefix, baseURL, models: merged(server, await listModels(server, within)) };
      } catch (error) {
        signal?.throwIfAborted();
        const why = limit.aborted ? `no answer within ${timeoutMs} ms` : reason(error, server);
        return { prefix, baseURL, models: merged(server, []), problem: why };
      }
    }),
  );
}

/**
 * Returns the models in the order in which to offer them. Models that cannot call tools come last. Within both groups,
 * models that are not loaded come last.
 */
export function offered(models: readonly ServedModel[]): readonly ServedModel[] {
  const rank = ({ hasTools, isLoaded }: ServedModel) =>
    (hasTools === false ? 2 : 0) + (isLoaded === false ? 1 : 0);
  return models.toSorted((a, b) => rank(a) - rank(b));
}

/** Adds the models in the settings, and the sizes of their context windows. */
function merged({ entry }: ModelServer, models: readonly ServedModel[]): ServedModel[] {
  const own = Object.entries(entry?.models ?? {});
  const known = new Set(models.map(({ id }) => id));
  const all: ServedModel[] = [...models, ...own.flatMap(([id]) => (known.has(id) ? [] : [{ id }]))];
  const sizeOf = ({ id, contextWindow }: ServedModel): number | undefined =>
    own.find(([name]) => name === id)?.[1].contextWindow ?? contextWindow ?? entry?.contextWindow;
  return all.map((model) => withSize(model, sizeOf(model)));
}

function withSize(model: ServedModel, contextWindow: number | undefined): ServedModel {
  return contextWindow === undefined ? model : { ...model, contextWindow };
}

function reason(error: unknown, { local, keyVariable }: ModelServer): string {
  if (error instanceof ListError) {
    const { status } = error;
    if (status === 401 || status === 403) {
      return `refused the key${keyVariable === undefined ? '' : ` in ${keyVariable}`} (${status})`;
    }
    return `has no list of models (${status})`;
  }
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  const code = systemCode(cause);
  if (code === 'ECONNREFUSED' && local) return `not running (${LOCAL_SERVERS[local].start})`;
  if (error instanceof Error && error.name === 'ZodError') return 'is not a model server';
  return `cannot be reached (${code ?? reasonOf(cause)})`;
}
