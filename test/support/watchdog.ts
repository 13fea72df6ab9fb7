// Ends a test file that outlives its tests. --test-timeout bounds each test, but a server or timer that a test left open
// keeps the file's process, and with it the whole run, going for ever. Wired in by --import (see package.json).
if (process.env['NODE_TEST_CONTEXT']) {
  const limit = 2 * Number(process.env['PARLEY_TEST_TIMEOUT'] ?? 120_000);
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ');
    process.stderr.write(`${process.argv[1]} still runs after ${limit} ms; open: ${open}\n`);
    process.exit(1);
  }, limit).unref();
}

// A property test chooses its seed at random, and prints it when it fails. This variable repeats it.
const seed = process.env['PARLEY_TEST_SEED'];
if (seed !== undefined && process.env['NODE_TEST_CONTEXT']) {
  const { default: fc } = await import('fast-check');
  fc.configureGlobal({ seed: Number(seed) });
}
