// SPDX-License-Identifier: GPL-2.0-or-later
'use strict';
'require view';

/* Output of `npm run build`, which also works without LuCI. */
const PAGE = '/fastpath';

/* Themes mark dark mode in different ways or not at all, so check the background colour. Drawing it
 * on a canvas converts any notation of colours. */
function isDark(node) {
	const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });

	for (; node instanceof Element; node = node.parentNode) {
		pen.clearRect(0, 0, 1, 1);
		pen.fillStyle = getComputedStyle(node).backgroundColor;
		pen.fillRect(0, 0, 1, 1);

		const [ red, green, blue, alpha ] = pen.getImageData(0, 0, 1, 1).data;

		if (alpha > 127)
			return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
	}

	return false;
}

/* Marks the menu entry and sets the title, because themes and LuCI do so only at load. Screens
 * without a menu entry get the page's own title. */
function markMenu(screen, title) {
	const base = L.url('admin/fastpath');
	const links = [ ...document.querySelectorAll(`a[href^="${base}/"]`) ];
	const wanted = links.filter(link => link.pathname === `${base}/${screen}`);

	for (const link of links) {
		const on = wanted.includes(link);

		for (const node of [ link, link.parentNode ])
			if (node.matches('a, li'))
				node.classList.toggle('active', on);
	}

	const router = document.title.split('|')[0].trim();

	document.title = `${router} | ${wanted[0]?.textContent.trim() ?? title}`;
}

return view.extend({
	handleSave: null,
	handleSaveApply: null,
	handleReset: null,

	render() {
		const host = E('div', { 'class': 'fastpath-app' });

		/* A shadow root separates LuCI's styles from ours. */
		const shadow = host.attachShadow({ mode: 'open' });

		this.bring(host, shadow).catch(cause => host.replaceWith(E('p', {
			'class': 'alert-message warning'
		}, _('The page could not be loaded from the router: %s').format(cause.message))));

		return host;
	},

	async bring(host, shadow) {
		const version = L.env.resource_version ? `?v=${L.env.resource_version}` : '';
		const page = await import(`${PAGE}/app.js${version}`);

		const app = await page.mount(shadow, {
			session: L.env.sessionid,
			ubusUrl: L.env.ubuspath.replace(/\/$/, ''),
			lang: document.documentElement.lang || 'en',
			dark: isDark(host.isConnected ? host.parentNode : document.body),
			base: L.url('admin/fastpath'),
			onScreen: markMenu
		});

		const dress = () => app.dress(isDark(host.parentNode));
		const scheme = matchMedia('(prefers-color-scheme: dark)');
		const attributes = new MutationObserver(dress);
		const children = new MutationObserver(() => {
			if (host.isConnected)
				return;

			attributes.disconnect();
			children.disconnect();
			scheme.removeEventListener('change', dress);
			app.unmount();
		});

		attributes.observe(document.documentElement, { attributes: true });
		attributes.observe(document.body, { attributes: true });
		children.observe(document.body, { childList: true, subtree: true });
		scheme.addEventListener('change', dress);
	}
});
