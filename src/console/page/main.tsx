/** Starts the page. */
import { render } from 'preact';
import * as z from 'zod';
import { App, start } from './app.tsx';

// The page's Content-Security-Policy forbids `eval`, which zod would otherwise try.
z.config({ jitless: true });

const root = document.querySelector('#app');
if (root) {
  root.replaceChildren();
  render(<App />, root);
  void start();
}
