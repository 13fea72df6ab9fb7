/**
 * The configuration of MCP servers. It is used in settings.json, in a client's settings and in the flat API.
 *
 * The schema also accepts the fields that other products use: `type`, `httpUrl` (Gemini CLI), `serverUrl` (Windsurf),
 * `timeout`, `enabled`. It converts them to Parley's own fields, such as `url`, `timeoutMs` and `disabled`.
 */
import * as z from 'zod';

const NAMES_AND_VALUES = z.record(z.string().min(1).max(256), z.string().max(32_768));
const TOOL_NAMES = z.array(z.string().max(256)).max(1_000);
const TEXT = z.string().min(1).optional();
const FLAG = z.boolean().optional();
const TIMEOUT = z.int().min(1).max(3_600_000).optional();
const MAX_NAME_LENGTH = 64;
/** The valid names of servers. A server's name is the prefix of the names of its tools: `SERVER__TOOL`. */
const NAME = /^[A-Za-z0-9](?:_?[A-Za-z0-9.-])*$/;

/** An http or https URL. A URL that contains a variable is not checked here, because the variable is replaced later. */
const Address = z
  .string()
  .refine((url) => url.includes('${') || /^https?:$/.test(URL.parse(url)?.protocol ?? ''), {
    message: 'must be an http or https URL',
  });

const OAuth = z.strictObject({
  clientId: z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe('The id of a client that is registered already. Default: dynamic registration.'),
  clientSecret: z.string().max(4_096).optional().describe('The secret of the client.'),
  scopes: z
    .array(z.string().max(256))
    .max(100)
    .optional()
    .describe('The scopes to request. Default: those that the server names.'),
  callbackPort: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('The port of the redirect URL http://127.0.0.1:PORT/callback. Default: a free port.'),
  enabled: FLAG.describe('Has no effect.'),
});

const Fields = z.strictObject({
  type: z
    .enum(['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse'])
    .optional()
    .describe('The transport. By default it follows from the other fields.'),
  command: TEXT.describe('The program to start. It uses standard input and output.'),
  args: z.array(z.string()).max(256).optional().describe('The arguments of the program.'),
  env: NAMES_AND_VALUES.optional().describe('Additional environment variables for the program.'),
  cwd: TEXT.describe('The folder to start the program in. Default: the workspace.'),
  url: Address.optional().describe('The address of an MCP server over HTTP.'),
  httpUrl: Address.optional().describe('The same as url.'),
  serverUrl: Address.optional().describe('The same as url.'),
  headers: NAMES_AND_VALUES.optional().describe(
    'Headers that are sent with each request to the address.',
  ),
  oauth: OAuth.optional().describe('The OAuth client for `parley mcp login`.'),
  timeoutMs: TIMEOUT.describe(
    'Timeout of a request to the server, in milliseconds. For a tool call, it restarts when the server reports progress.',
  ),
  timeout: TIMEOUT.describe('The same as timeoutMs. A number below 1000 counts as seconds.'),
  disabled: FLAG.describe('Whether the server is disabled. A disabled server is not used.'),
  enabled: FLAG.describe('The opposite of disabled.'),
  includeTools: TOOL_NAMES.optional().describe('The tools to offer. Default: all.'),
  excludeTools: TOOL_NAMES.optional().describe('Tools that are not offered.'),
  roots: FLAG.describe(
    'Whether the server gets the path of the workspace folder. Some servers limit their access to this folder. Default: true. A server that a client specifies never gets the path.',
  ),
  description: z.string().optional().describe('Has no effect.'),
  trust: FLAG.describe('Has no effect: `policy` decides which calls need an approval.'),
  autoApprove: TOOL_NAMES.optional().describe('Has no effect, like trust.'),
  alwaysAllow: TOOL_NAMES.optional().describe('Has no effect, like trust.'),
});

/** An MCP server: a program to start (`command`), or a URL (`url`). */
const McpServer = Fields.check(({ value, issues }) => {
  const problem = problemOf(value);
  if (problem !== undefined) issues.push({ code: 'custom', input: value, message: problem });
}).transform((server) => {
  const { command, args, env, cwd, headers, oauth, includeTools, excludeTools } = server;
  const url = addressOf(server);
  // Gemini CLI and Claude Code specify milliseconds. Cline and Roo Code specify seconds.
  const { timeout = 0 } = server;
  const timeoutMs = server.timeoutMs ?? (timeout < 1000 ? timeout * 1000 : timeout);
  const disabled = server.disabled ?? (server.enabled === false ? true : undefined);
  return {
    ...(command !== undefined && { command }),
    ...(args && { args }),
    ...(env && { env }),
    ...(cwd !== undefined && { cwd }),
    ...(url !== undefined && { url }),
    ...(server.type === 'sse' && { type: 'sse' as const }),
    ...(headers && { headers }),
    ...(oauth && { oauth }),
    ...(timeoutMs > 0 && { timeoutMs }),
    ...(disabled !== undefined && { disabled }),
    ...(includeTools && { includeTools }),
    ...(excludeTools && { excludeTools }),
    ...(server.roots === false && { roots: false }),
  };
});

function addressOf({ url, httpUrl, serverUrl }: z.infer<typeof Fields>): string | undefined {
  return httpUrl ?? serverUrl ?? url;
}

function problemOf(server: z.infer<typeof Fields>): string | undefined {
  const { type, command } = server;
  const url = addressOf(server);
  if ((command === undefined) === (url === undefined)) {
    return 'must have exactly one of command and url';
  }
  if (type !== undefined && (type === 'stdio') !== (command !== undefined)) {
    return `type ${type} requires ${type === 'stdio' ? 'command' : 'url'}`;
  }
  return undefined;
}

/**
 * MCP servers by name. Other products allow any name. Here the name becomes the prefix of the names of tools
 * (`SERVER__TOOL`), so invalid characters are replaced with `-`.
 */
export const McpServers = z
  .record(z.string().min(1).max(256), McpServer)
  .transform((servers, context) => {
    const named = new Map<string, z.infer<typeof McpServer>>();
    for (const [given, server] of Object.entries(servers)) {
      const name = serverName(given);
      if (named.has(name)) {
        const message = `another server has the same name, ${name}`;
        context.issues.push({ code: 'custom', input: server, path: [given], message });
      }
      named.set(name, server);
    }
    return Object.fromEntries(named);
  });
export type McpServers = z.infer<typeof McpServers>;

function serverName(name: string): string {
  if (name.length <= MAX_NAME_LENGTH && NAME.test(name)) return name;
  const plain = name.replaceAll(/[^A-Za-z0-9.-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  return plain.slice(0, MAX_NAME_LENGTH) || 'server';
}
