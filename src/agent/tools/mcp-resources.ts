/** The resources of an MCP server, and the tool that lists and reads them. */
import { defined, type JsonObject } from '../../base/index.ts';
import type { ReadResourceResult } from '@modelcontextprotocol/client';
import type { Tool } from '../tool.ts';
import type { McpConnection } from './mcp-connection.ts';
import { readResult, type SaveMcpFile } from './mcp-result.ts';
import { listed } from '../tool-result.ts';

/**
 * The name of the tool without the server's prefix. If the server has a tool with the same name, the server's tool is
 * used instead.
 */
export const RESOURCE_TOOL = 'read_resource';
/** Maximum number of resources, and maximum number of templates, in a list. */
const MAX_RESOURCES = 500;
const MAX_DESCRIPTION_LENGTH = 300;

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    uri: {
      type: 'string',
      description: 'The URI of the resource. Without it, lists the resources.',
    },
  },
  additionalProperties: false,
};

/** A resource, or a template of URIs such as `file:///{path}`. */
export interface McpResource {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  readonly isTemplate: boolean;
}

type Connection = Pick<McpConnection, 'list' | 'readResource'>;

/** @internal */
export function resourceTool(
  server: string,
  name: string,
  connection: Connection,
  { save, confirm }: { readonly save?: SaveMcpFile | undefined } & Pick<Tool, 'confirm'> = {},
): Tool {
  return {
    name,
    ...defined({ confirm }),
    description: `Reads a resource of the MCP server ${server} by its URI. Without a URI, lists its resources and templates of URIs.`,
    parameters: PARAMETERS,
    async run({ uri }, { signal }) {
      if (typeof uri === 'string' && uri !== '') {
        return readResult(asResult(await connection.readResource(uri, signal)), save);
      }
      const found = await listResources(connection, signal);
      return found.map(lineOf).join('\n') || 'The server lists no resources.';
    },
  };
}

/** @internal */
export async function listResources(
  connection: Connection,
  signal: AbortSignal,
): Promise<McpResource[]> {
  const [resources, templates] = await Promise.all([
    connection.list('resources', MAX_RESOURCES, signal),
    // Not every server with resources has templates, and some servers refuse this request.
    connection.list('resourceTemplates', MAX_RESOURCES, signal).catch(() => []),
  ]);
  signal.throwIfAborted();
  const text = (given = '') => listed(given, MAX_DESCRIPTION_LENGTH);
  const entry = (isTemplate: boolean, uri: string, name: string, description?: string) => ({
    uri: text(uri),
    name: text(name),
    description: text(description),
    isTemplate,
  });
  return [
    ...resources.map(({ uri, name, description }) => entry(false, uri, name, description)),
    ...templates.map(({ uriTemplate: uri, name, description }) =>
      entry(true, uri, name, description),
    ),
  ];
}

function lineOf({ uri, name, description, isTemplate }: McpResource): string {
  const kind = isTemplate ? ' (template)' : '';
  return `${uri}${kind}: ${name}${description === '' ? '' : `, ${description}`}`;
}

function asResult({ contents }: ReadResourceResult): Parameters<typeof readResult>[0] {
  return { content: contents.map((resource) => ({ type: 'resource', resource })) };
}
