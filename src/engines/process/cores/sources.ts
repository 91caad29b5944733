import { fabricSource, leafSource, paperSource, pufferfishSource, purpurSource, vanillaSource } from './jar-sources.ts';
import { forgeSource, neoforgeSource, quiltSource } from './loader-sources.ts';
import type { CoreSource, SourceOptions } from './source.ts';

/** The addresses of the sources, or of mirrors of them. */
export interface SourceUrls {
  versionManifestUrl: string;
  paperUrl: string;
  purpurUrl: string;
  leafUrl: string;
  pufferfishUrl: string;
  fabricMetaUrl: string;
  quiltMetaUrl: string;
  forgeUrl: string;
  forgePromotionsUrl: string;
  neoforgeUrl: string;
}

/** Opens the public sources of cores, by core. Cores that are missing here have none. */
export function openCoreSources(urls: SourceUrls, options: SourceOptions): Readonly<Record<string, CoreSource>> {
  return {
    vanilla: vanillaSource({ manifestUrl: urls.versionManifestUrl, ...options }),
    paper: paperSource(urls.paperUrl, 'paper', options),
    folia: paperSource(urls.paperUrl, 'folia', options),
    velocity: paperSource(urls.paperUrl, 'velocity', options),
    purpur: purpurSource(urls.purpurUrl, options),
    leaf: leafSource(urls.leafUrl, options),
    pufferfish: pufferfishSource(urls.pufferfishUrl, options),
    fabric: fabricSource(urls.fabricMetaUrl, options),
    quilt: quiltSource(urls.quiltMetaUrl, options),
    forge: forgeSource(urls.forgeUrl, urls.forgePromotionsUrl, options),
    neoforge: neoforgeSource(urls.neoforgeUrl, options),
  };
}
