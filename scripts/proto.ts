/**
 * Writes the descriptors of the .proto files in src/grpc/proto to src/grpc/codec/descriptors.json, as base64 of a
 * FileDescriptorSet. Run it after each change of a .proto file. It needs no network.
 *
 *   node scripts/proto.ts
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');

/** Returns the content of the file with the descriptors. */
export function descriptorFile(): string {
  const bytes = execFileSync(
    path.join(root, 'node_modules/.bin/buf'),
    ['build', 'src/grpc/proto', '--as-file-descriptor-set', '--exclude-source-info', '-o', '-'],
    { cwd: root },
  );
  return `${JSON.stringify(bytes.toString('base64'))}\n`;
}

if (import.meta.main) {
  writeFileSync(path.join(root, 'src/grpc/codec/descriptors.json'), descriptorFile());
}
