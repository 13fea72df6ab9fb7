/** Starts the page. */
import { render } from 'preact';
import { App, start } from './app.tsx';

const root = document.querySelector('#app');
if (root) {
  root.replaceChildren();
  render(<App />, root);
  void start();
}
