/** Starts the page. */
import { render } from 'preact';
import { PageApp, start } from './app.tsx';

const root = document.querySelector('#app');
if (root) {
  root.replaceChildren();
  render(<PageApp />, root);
  void start();
}
