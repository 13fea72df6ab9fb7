import assert from 'node:assert/strict';
import { test } from 'node:test';
import { optionalPackage } from './optional-package.ts';

const missing: string = 'parley-missing-package';

test('the error for a missing package says what needs it and how to install it', async () => {
  await assert.rejects(
    optionalPackage(missing, 'PostgreSQL', () => import(missing)),
    {
      message:
        'PostgreSQL needs the package parley-missing-package, which is not installed: ' +
        'run npm install parley-missing-package',
    },
  );
});

test('a file or another package that is missing is reported as it is', async () => {
  const absent: string = './absent-file.ts';
  await assert.rejects(
    optionalPackage(missing, 'PostgreSQL', () => import(absent)),
    /Cannot find module/,
  );
  await assert.rejects(
    optionalPackage('pg', 'PostgreSQL', () => import(missing)),
    /Cannot find package 'parley-missing-package'/,
  );
});

test('a package that is installed is returned', async () => {
  const { z } = await optionalPackage('zod', 'Validation', () => import('zod'));
  assert.equal(z.string().parse('a'), 'a');
});
