// SPDX-License-Identifier: GPL-2.0-or-later

/** What `build/` calls for compressed files: scripts, words, and what the page looks like. */
interface Loader {
  /** A script as a module, in the place of `import()`. */
  (name: string): Promise<unknown>;
  /** A file, unpacked. */
  unpack(file: string): Promise<Response>;
}

declare global {
  var fastpathScript: Loader;
}

/** Makes the loader known to all scripts; `base`: where they are. */
export function provideScripts(base: URL): void {
  const made = new Map<string, Promise<string>>();

  async function unpack(file: string): Promise<Response> {
    const answer = await fetch(new URL(file, base));
    if (!answer.ok || !answer.body) throw new Error(`${file}: HTTP ${answer.status}`);
    return new Response(answer.body.pipeThrough(new DecompressionStream('deflate-raw')));
  }

  /** The address of a module made of a script, and of those that it needs; `.js` is none. */
  function addressOf(name: string): Promise<string> {
    if (name.endsWith('.js')) return Promise.resolve(new URL(name, base).href);
    const address = made.get(name) ?? make(name);
    made.set(name, address);
    // What could not be had is asked for again.
    address.catch(() => made.delete(name));
    return address;
  }

  async function make(name: string): Promise<string> {
    // Names of others are between marks: every second part.
    const parts = (await (await unpack(`${name}.script`)).text()).split('\0');
    const code = await Promise.all(parts.map((part, i) => (i % 2 ? addressOf(part) : part)));
    return URL.createObjectURL(new Blob(code, { type: 'text/javascript' }));
  }

  const load = async (name: string): Promise<unknown> =>
    import(/* @vite-ignore */ await addressOf(name));
  globalThis.fastpathScript = Object.assign(load, { unpack });
}
