/**
 * Writes the descriptors of the .proto files in src/grpc/proto to src/grpc/codec/descriptors.ts. Run it after each
 * change of a .proto file. It needs no network.
 *
 *   node scripts/proto.ts
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const LINE = 96;

/** Returns the source of the module with the descriptors. */
export function descriptorModule(): string {
  const bytes = execFileSync(
    path.join(root, 'node_modules/.bin/buf'),
    ['build', 'src/grpc/proto', '--as-file-descriptor-set', '--exclude-source-info', '-o', '-'],
    { cwd: root },
  );
  const lines = bytes.toString('base64').match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  return [
    '/** The descriptors of the .proto files, as base64 of a FileDescriptorSet. Written by scripts/proto.ts. */',
    'export const DESCRIPTORS: string = `',
    ...lines,
    '`;',
    '',
  ].join('\n');
}

if (import.meta.main) {
  writeFileSync(path.join(root, 'src/grpc/codec/descriptors.ts'), descriptorModule());
}
