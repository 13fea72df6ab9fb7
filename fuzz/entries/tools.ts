/** The arguments of the coding agent's tools, in a workspace on disk, and the results of MCP servers. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { McpError } from '../../src/agent/tools/mcp-error.ts';
import { readResult } from '../../src/agent/tools/mcp-result.ts';
import { ToolError } from '../../src/agent/tool-error.ts';
import { RichResponse } from '../../src/agent/tool.ts';
import { isObject, type JsonObject } from '../../src/base/index.ts';
import { openWorkspace } from '../../src/coder/files/workspace.ts';
import { applyPatchTool } from '../../src/coder/tools/apply-patch.ts';
import { editTool } from '../../src/coder/tools/edit.ts';
import { globTool } from '../../src/coder/tools/glob.ts';
import { listDirectoryTool } from '../../src/coder/tools/list-directory.ts';
import { readFileTool } from '../../src/coder/tools/read-file.ts';
import { searchTool } from '../../src/coder/tools/search.ts';
import { todoTool } from '../../src/coder/tools/todo.ts';
import { writeFileTool } from '../../src/coder/tools/write-file.ts';
import { specTypeSchemas } from '@modelcontextprotocol/client';
import { toolContext } from '../../test/support/tool-context.ts';
import {
  check,
  type Entry,
  type Input,
  pure,
  refusing,
  refusingAsync,
  type Target,
} from '../entry.ts';
import { mutateJson } from '../mutate.ts';
import type { Random } from '../random.ts';
import { json, jsonText, text, type Json } from '../values.ts';

const SECRET = 'the-secret-outside-the-workspace';
const PATHS = [
  'a.txt',
  'src',
  'src/b.ts',
  '.',
  '..',
  '../outside/secret.txt',
  'link',
  'link/secret.txt',
];

function argumentsFor(random: Random): Readonly<Record<string, Json>> {
  const at = random.once(4) ? text(random) : random.pick(PATHS);
  return {
    read_file: { path: at, offset: random.int(5), limit: random.int(5) },
    write_file: { path: at, content: text(random) },
    edit: { path: at, old: random.pick(['one', 'two\n', text(random)]), new: text(random) },
    apply_patch: { patch: `--- a/${at}\n+++ b/${at}\n@@ -1 +1 @@\n-one\n+${text(random)}\n` },
    list_directory: { path: at },
    glob: { pattern: random.pick(['**/*', '*.ts', text(random)]), path: at },
    search: { pattern: random.pick(['one', '(', text(random)]), path: at, include: text(random) },
    todo: { items: [{ text: text(random), status: 'pending' }] },
  };
}

async function openTools(): Promise<Target> {
  const base = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-fuzz-')));
  const root = path.join(base, 'root');
  mkdirSync(path.join(root, 'src'), { recursive: true });
  mkdirSync(path.join(base, 'outside'));
  writeFileSync(path.join(base, 'outside', 'secret.txt'), SECRET);
  const workspace = await openWorkspace([root]);
  const tools = [
    [readFileTool(workspace), writeFileTool(workspace), editTool(workspace)],
    [applyPatchTool(workspace), listDirectoryTool(workspace), globTool(workspace)],
    [searchTool(workspace), todoTool()],
  ].flat();
  const KEYS = ['path', 'content', 'old', 'new', 'all', 'pattern', 'include', 'items', 'patch'];
  return {
    make(random): Input {
      // Searching starts a process.
      const { name } = random.pick(
        random.once(8) ? tools : tools.filter((each) => each.name !== 'search'),
      );
      const args = argumentsFor(random)[name] ?? {};
      return {
        text: jsonText(random, random.once(2) ? args : mutateJson(random, args, KEYS)),
        head: name,
      };
    },
    async run({ text: source, head }) {
      writeFileSync(path.join(root, 'a.txt'), 'one\ntwo\nthree\n');
      const tool = tools.find(({ name }) => name === head);
      const args: unknown = parsed(source);
      if (!tool || !isObject(args)) return;
      // Arguments that do not match the schema are a TypeError.
      const read = refusing(() => tool.parse?.(args as JsonObject), TypeError) as JsonObject;
      if (read === undefined) return;
      await refusingAsync(async () => {
        tool.describe(read);
        tool.files?.(read);
        const context = toolContext();
        const result = await tool.run(read, context, await tool.preview(read, context));
        const told =
          JSON.stringify(result instanceof RichResponse ? result.response : result) ?? '';
        check(!told.includes(SECRET), 'a tool reads outside the workspace', told);
      }, ToolError);
    },
    async [Symbol.asyncDispose]() {
      rmSync(base, { recursive: true, force: true });
    },
  };
}

function parsed(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    return undefined;
  }
}

const RESULT: Json = {
  content: [
    { type: 'text', text: 'hi' },
    { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'file:///x', name: 'x', mimeType: 'text/plain' },
    { type: 'resource', resource: { uri: 'file:///x', text: 'x' } },
    { type: 'resource', resource: { uri: 'file:///x', blob: 'AAAA', mimeType: 'text/html' } },
  ],
  structuredContent: { result: 'hi' },
  isError: false,
};
const MCP_KEYS = [
  'type',
  'text',
  'data',
  'mimeType',
  'uri',
  'resource',
  'blob',
  'structuredContent',
  'isError',
];

/** A result that the SDK lets through. */
async function mcp(source: string): Promise<void> {
  const checked = specTypeSchemas.CallToolResult['~standard'].validate(parsed(source));
  if (checked instanceof Promise || checked.issues) return;
  await refusingAsync(() => readResult(checked.value), McpError);
}

export const TOOLS: readonly Entry[] = [
  { name: 'tools', share: 14, open: openTools },
  pure(
    'mcp',
    40,
    (random) =>
      jsonText(
        random,
        random.once(6) ? json(random, MCP_KEYS, 5) : mutateJson(random, RESULT, MCP_KEYS),
      ),
    mcp,
  ),
];
