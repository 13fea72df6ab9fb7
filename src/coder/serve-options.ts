/**
 * The methods and routes that the coding agent adds to the protocol, as options for `serve`:
 *
 *   serve(coder.agent, { ...coderServeOptions(coder), store });
 *
 *   commands/get, command/execute              JSON-RPC methods of the development-tool extension
 *   GET /commands, POST /commands:execute      the same over REST
 *   and the flat API (flat-api/routes.ts)
 */
import {
  EXTENSION_URI,
  ExecuteSlashCommandRequest,
  GetAllSlashCommandsRequest,
  isCompatible,
  refuseIncompatible,
} from '../protocol/development-tool/index.ts';
import { parseWith, type Call } from '../protocol/index.ts';
import type { RequestHandler } from '../tasks/index.ts';
import type { ServeOptions } from '../server.ts';
import type { OwnRoute } from '../http/index.ts';
import { flatRoutes, type FlatApiOptions } from './flat-api/routes.ts';

export function coderServeOptions(
  options: FlatApiOptions,
): Required<Pick<ServeOptions, 'methods' | 'routes' | 'extensionOf'>> {
  const { commands } = options;

  async function list(params: unknown, call: Call) {
    const request = parseWith(GetAllSlashCommandsRequest, params ?? {});
    return { commands: await commands.list(request, call) };
  }

  function execute(params: unknown, call: Call, handler: RequestHandler) {
    const request = parseWith(ExecuteSlashCommandRequest, params ?? {});
    return commands.execute(request, call, handler);
  }

  const routes: OwnRoute[] = [
    {
      verb: 'GET',
      path: '/commands',
      handle: async ({ query, call }) => ({ body: await list(Object.fromEntries(query), call) }),
    },
    {
      verb: 'POST',
      path: '/commands:execute',
      handle: async ({ body, call, handler }) => ({ body: await execute(body, call, handler) }),
    },
    ...flatRoutes(options),
  ];
  return {
    methods: { 'commands/get': { handle: list }, 'command/execute': { handle: execute } },
    routes,
    extensionOf,
  };
}

/**
 * Returns the URI on the card for every 0.x version of the extension, and undefined for other extensions. Throws for
 * other major versions of the extension.
 */
function extensionOf(uri: string): string | undefined {
  refuseIncompatible([uri]);
  return isCompatible(uri) ? EXTENSION_URI : undefined;
}
