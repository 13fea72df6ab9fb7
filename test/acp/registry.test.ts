// The entry for the ACP registry, by the rules of the registry's JSON Schema (agent.schema.json) and of its checks.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { test } from 'node:test';
import * as z from 'zod';
import manifest from '../../package.json' with { type: 'json' };

const FOLDER = resolve(import.meta.dirname, '../../registry/parley');

const Args = {
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
};
const Package = z.strictObject({ package: z.string().min(1), ...Args });
const Target = z.strictObject({ archive: z.url(), cmd: z.string(), ...Args });
const Platform = z.enum(
  ['darwin', 'linux', 'windows'].flatMap((system) => [`${system}-aarch64`, `${system}-x86_64`]),
);

/** The schema allows other fields beside these. */
const Entry = z.object({
  id: z.string().regex(/^[a-z][a-z0-9-]*$/),
  name: z.string().min(1),
  version: z.string().regex(/^\d+\.\d+\.\d+/),
  description: z.string().min(1),
  repository: z.url().optional(),
  authors: z.array(z.string()).optional(),
  license: z.string().optional(),
  icon: z.string().optional(),
  distribution: z
    .strictObject({
      binary: z.partialRecord(Platform, Target).optional(),
      npx: Package.optional(),
      uvx: Package.optional(),
    })
    .refine((ways) => Object.keys(ways).length > 0),
});

test('the entry is valid, and starts the published program of this version', () => {
  const entry = Entry.parse(JSON.parse(readFileSync(join(FOLDER, 'agent.json'), 'utf8')));
  assert.equal(entry.id, basename(FOLDER));
  assert.equal(entry.version, manifest.version);
  assert.equal(entry.license, manifest.license);
  // The version must be exact. `npx` runs the only program of the package.
  assert.deepEqual(entry.distribution, {
    npx: { package: `parley-cli@${manifest.version}`, args: ['acp'] },
  });
  assert.deepEqual(Object.keys(manifest.bin), ['parley']);
});

test('the icon is a square of 16 pixels in the colour of the text', () => {
  const icon = readFileSync(join(FOLDER, 'icon.svg'), 'utf8');
  const [, head = ''] = /<svg([^>]*)>/.exec(icon) ?? [];
  assert.match(head, /\swidth="16"/);
  assert.match(head, /\sheight="16"/);
  const colours = Array.from(icon.matchAll(/\b(?:fill|stroke)="([^"]+)"/g), ([, colour]) => colour);
  assert.ok(colours.includes('currentColor'));
  assert.ok(colours.every((colour) => ['currentColor', 'none', 'inherit'].includes(colour ?? '')));
  assert.doesNotMatch(icon, /\bstyle=/);
});
