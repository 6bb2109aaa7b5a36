package plugin

import (
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin/providerpb"
)

func queryTo(q providers.CatalogQuery) *providerpb.CatalogRequest {
	return &providerpb.CatalogRequest{Cloud: string(q.Cloud), GpuCount: int32(q.GPUCount), MinCuda: q.MinCUDA}
}

func queryFrom(p *providerpb.CatalogRequest) providers.CatalogQuery {
	return providers.CatalogQuery{Cloud: providers.Cloud(p.GetCloud()), GPUCount: int(p.GetGpuCount()), MinCUDA: p.GetMinCuda()}
}

func catalogTo(c providers.Catalog) *providerpb.CatalogResponse {
	return &providerpb.CatalogResponse{
		Gpus: mapped(c.GPUs, func(g providers.GPUType) *providerpb.GpuType {
			return &providerpb.GpuType{
				Id: g.ID, Name: g.Name, VramGb: int32(g.VRAMGB), Offered: g.Offered, Price: g.Price,
				MaxCount: int32(g.MaxCount), Stock: string(g.Stock),
				DataCenters: mapped(g.DataCenters, func(s providers.PlaceStock) *providerpb.PlaceStock {
					return &providerpb.PlaceStock{DataCenter: s.DataCenter, Stock: string(s.Stock)}
				}),
			}
		}),
		DataCenters: mapped(c.DataCenters, func(d providers.DataCenter) *providerpb.DataCenter {
			return &providerpb.DataCenter{
				Id: d.ID, Name: d.Name, Region: d.Region, VolumeTypes: d.VolumeTypes,
				Gpus: mapped(d.GPUs, func(s providers.GPUStock) *providerpb.GpuStock {
					return &providerpb.GpuStock{GpuType: s.GPUType, Stock: string(s.Stock)}
				}),
			}
		}),
		ServerTime:   timeTo(c.ServerTime),
		Free:         c.Free,
		DiskIncluded: c.DiskIncluded,
	}
}

func catalogFrom(p *providerpb.CatalogResponse) providers.Catalog {
	return providers.Catalog{
		GPUs: mapped(p.GetGpus(), func(g *providerpb.GpuType) providers.GPUType {
			return providers.GPUType{
				ID: g.GetId(), Name: g.GetName(), VRAMGB: int(g.GetVramGb()), Offered: g.GetOffered(), Price: g.GetPrice(),
				MaxCount: int(g.GetMaxCount()), Stock: stockFrom(g.GetStock()),
				DataCenters: mapped(g.GetDataCenters(), func(s *providerpb.PlaceStock) providers.PlaceStock {
					return providers.PlaceStock{DataCenter: s.GetDataCenter(), Stock: stockFrom(s.GetStock())}
				}),
			}
		}),
		DataCenters: mapped(p.GetDataCenters(), func(d *providerpb.DataCenter) providers.DataCenter {
			return providers.DataCenter{
				ID: d.GetId(), Name: d.GetName(), Region: d.GetRegion(), VolumeTypes: d.GetVolumeTypes(),
				GPUs: mapped(d.GetGpus(), func(s *providerpb.GpuStock) providers.GPUStock {
					return providers.GPUStock{GPUType: s.GetGpuType(), Stock: stockFrom(s.GetStock())}
				}),
			}
		}),
		ServerTime:   timeFrom(p.GetServerTime()),
		Free:         p.GetFree(),
		DiskIncluded: p.GetDiskIncluded(),
	}
}

// stockFrom maps a band that this version does not know to UnknownStock.
func stockFrom(s string) providers.Stock {
	switch b := providers.Stock(s); b {
	case providers.NoStock, providers.LowStock, providers.MediumStock, providers.HighStock:
		return b
	}
	return providers.UnknownStock
}

func volumeTo(v providers.Volume) *providerpb.Volume {
	return &providerpb.Volume{
		Id: v.ID, Name: v.Name, SizeGb: int32(v.SizeGB), DataCenter: v.DataCenter, Type: v.Type, MonthlyUsd: v.MonthlyUSD,
	}
}

func volumeFrom(p *providerpb.Volume) providers.Volume {
	return providers.Volume{
		ID: p.GetId(), Name: p.GetName(), SizeGB: int(p.GetSizeGb()), DataCenter: p.GetDataCenter(), Type: p.GetType(),
		MonthlyUSD: p.GetMonthlyUsd(),
	}
}

func secretTo(s providers.Secret) *providerpb.Secret {
	return &providerpb.Secret{Id: s.ID, Name: s.Name, CreatedAt: timeTo(s.CreatedAt)}
}

func secretFrom(p *providerpb.Secret) providers.Secret {
	return providers.Secret{ID: p.GetId(), Name: p.GetName(), CreatedAt: timeFrom(p.GetCreatedAt())}
}

func templateTo(t providers.Template) *providerpb.Template {
	return &providerpb.Template{Id: t.ID, Name: t.Name, Image: t.Image, DiskGb: int32(t.DiskGB)}
}

func templateFrom(p *providerpb.Template) providers.Template {
	return providers.Template{ID: p.GetId(), Name: p.GetName(), Image: p.GetImage(), DiskGB: int(p.GetDiskGb())}
}
